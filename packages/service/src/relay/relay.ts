import type { MessageReceivedFrame, SendFrame } from '@footbridge/protocol/frames';
import type { LocationId } from '@footbridge/protocol/ids';

import type { Occurrence, Slot } from '../platform/extension-points.ts';
import type { AccountsRoom } from './accounts/room.ts';
import type { AssetsRoom } from './assets/room.ts';
import type { CrmRoom } from './crm/room.ts';
import type { ConversationCalls } from './inbound/conversation-calls.ts';
import type { Gate } from './inbound/gate.ts';
import type { Journal } from './journal/journal-sql.ts';
import type { Retention } from './journal/retention.ts';
import type { Texts } from './journal/texts.ts';
import type { KeyedHash, Phones } from './people/handles.ts';
import type { Switchboard } from './switchboard/switchboard.ts';
import type { HandleAppEvent } from './webhook/app-events.ts';
import type { IsSuppressed } from './webhook/check-message.ts';
import type { HandledRequest } from './webhook/webhook-route.ts';

/** What features see of the relay: its rooms, the slots that they fill, and what happens there. */
export interface Relay {
  readonly people: { readonly phones: Phones; readonly hashes: KeyedHash };
  readonly journal: Journal;
  readonly crm: CrmRoom;
  readonly switchboard: Switchboard;
  readonly accounts: AccountsRoom;
  readonly assets: AssetsRoom;
  readonly conversations: ConversationCalls;

  /** The texts that the operator may read for a limited time. */
  readonly texts: Slot<Texts>;
  readonly retention: Slot<Retention>;
  /** Whether a person does not want texts. */
  readonly optOuts: Slot<IsSuppressed>;
  /** What happens to a message from a Mac before it is delivered to the CRM. */
  readonly gate: Slot<Gate>;
  /** What handles the signed events of the CRM, by type. */
  readonly appEvents: Map<string, HandleAppEvent>;
  /** Whether an event with this app id belongs to another app. */
  readonly isForeignApp: Slot<(appId: unknown) => boolean>;

  /** A webhook was responded to. */
  readonly handled: Occurrence<[HandledRequest]>;
  /** A text was forwarded to a Mac. */
  readonly forwarded: Occurrence<[locationId: LocationId, frame: SendFrame]>;
  /** The CRM has accepted a message from a Mac. */
  readonly inboundDelivered: Occurrence<[locationId: LocationId, frame: MessageReceivedFrame]>;
}
