import type { MessageReceivedFrame, SendFrame } from '@footbridge/protocol/frames';
import type { LocationId } from '@footbridge/protocol/ids';

import type { Occurrence } from '../platform/occurrence.ts';
import type { Slot } from '../platform/slot.ts';
import type { AssetIndex } from './assets/asset-index.ts';
import type { Assets } from './assets/assets.ts';
import type { UpdateContact } from './crm/update-contact.ts';
import type { PersonJournal } from './journal/journal.ts';
import type { Retention } from './journal/retention.ts';
import type { Texts } from './journal/texts.ts';
import type { KeyedHash } from './people/keyed-hash.ts';
import type { Phones } from './people/phones.ts';
import type { Gate } from './inbound/gate.ts';
import type { Switchboard } from './switchboard/switchboard.ts';
import type { HandleAppEvent } from './webhook/app-events.ts';
import type { IsSuppressed } from './webhook/check-opt-out.ts';

/** What features see of the relay: its rooms, the slots that they fill, and what happens there. */
export interface Relay {
  readonly people: { readonly phones: Phones; readonly hashes: KeyedHash };
  readonly switchboard: Switchboard;
  readonly assets: { readonly index: AssetIndex; readonly assets: Assets };
  readonly journal: PersonJournal;
  readonly updateContact: UpdateContact;
  /** What handles the signed events of the CRM, by type. */
  readonly appEvents: Map<string, HandleAppEvent>;

  /** The texts that the operator may read for a limited time. */
  readonly texts: Slot<Texts>;
  readonly retention: Slot<Retention>;
  /** Whether a person does not want texts. */
  readonly optOuts: Slot<IsSuppressed>;
  /** What happens to a message from a Mac before it is delivered to the CRM. */
  readonly gate: Slot<Gate>;

  /** A text was forwarded to a Mac. */
  readonly forwarded: Occurrence<[locationId: LocationId, frame: SendFrame]>;
  /** The CRM has accepted a message from a Mac. */
  readonly inboundDelivered: Occurrence<[locationId: LocationId, frame: MessageReceivedFrame]>;
}
