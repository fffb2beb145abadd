import type { AckOutcome } from '@footbridge/protocol/frames';

import type { StatusDelivery } from './status-delivery.ts';

export interface KnownRequest {
  readonly locationId: string;
  /** Undefined when there is none to call back for. */
  readonly messageId: string | undefined;
  /** Kept because a Map finds a string that was hashed before faster. */
  readonly key: string | undefined;
  /** How its terminal status ends or ended; undefined until the Mac reports. */
  terminal: Promise<AckOutcome> | undefined;
  /** Its terminal status while it is being delivered. */
  delivery: StatusDelivery | undefined;
}
