import type { EventFault, SendBehaviour, SimulatedAccount } from '@footbridge/testkit/macos/apple-events';
import type { OsascriptFault } from '@footbridge/testkit/macos/osascript-faults';

/** A fault during the send of one text, and the code that the CRM must get. */
export interface SendFault {
  readonly name: string;
  /** `delivered`, or the code of a failure. */
  readonly expected: string;
  /** How often it occurs. Those that take long are rare. */
  readonly weight: number;
  readonly osascript?: OsascriptFault;
  readonly events?: readonly EventFault[];
  readonly sends?: SendBehaviour;
  readonly accounts?: readonly SimulatedAccount[];
  readonly running?: boolean;
  /** The iPhone of the owner sends the same text to the same person. */
  readonly phone?: true;
}

const COMMON = 10;
const RARE = 1;

const osascript = (fault: OsascriptFault, expected: string, weight = COMMON): SendFault => ({
  name: `osascript ${fault}`,
  expected,
  weight,
  osascript: fault,
});
const before = (error: number, expected: string): SendFault => ({
  name: `${error} before the send`,
  expected,
  weight: COMMON,
  events: [{ event: 'accounts', error }],
});
const during = (error: number, expected: string): SendFault => ({
  name: `${error} of the send`,
  expected,
  weight: COMMON / 2,
  events: [{ event: 'send', error }],
});
const after = (error: number): SendFault => ({
  name: `${error} after the send`,
  expected: 'delivered',
  weight: COMMON / 2,
  events: [{ event: 'send', error, effect: true }],
});
const row = (name: string, sends: SendBehaviour, expected: string): SendFault => ({
  name: `row ${name}`,
  expected,
  weight: COMMON,
  sends,
});

export const SEND_FAULTS: readonly SendFault[] = [
  osascript('hang_before', 'IMESSAGE_ERROR', RARE),
  osascript('hang_after', 'delivered', RARE),
  osascript('killed_before', 'IMESSAGE_ERROR'),
  osascript('killed_after', 'delivered'),
  osascript('garbage', 'IMESSAGE_ERROR'),
  osascript('garbage_after', 'delivered'),
  osascript('half_json', 'IMESSAGE_ERROR'),
  osascript('silent', 'IMESSAGE_ERROR'),
  osascript('silent_after', 'delivered'),
  osascript('flood', 'TIMEOUT', RARE),
  before(-1743, 'AX_DENIED'),
  ...[-1728, -1700, -10004].map((error) => before(error, 'IMESSAGE_ERROR')),
  ...[-600, -609, -1712].map((error) => before(error, 'delivered')),
  during(-1743, 'AX_DENIED'),
  ...[-1728, -1700, -600, -10004].map((error) => during(error, 'IMESSAGE_ERROR')),
  ...[-609, -1712].map((error) => during(error, 'TIMEOUT')),
  ...[-1743, -600, -609, -1712].map(after),
  { name: 'Messages stopped', expected: 'delivered', weight: COMMON, running: false },
  {
    name: 'Messages quits',
    expected: 'TIMEOUT',
    weight: COMMON / 2,
    events: [{ event: 'send', error: -609, quits: true }],
  },
  { name: 'signed out', expected: 'IMESSAGE_ERROR', weight: COMMON, accounts: [] },
  row('missing', { row: 'none' }, 'TIMEOUT'),
  row('late', { rowAfter: 400 }, 'delivered'),
  row('in steps', { delays: { join: 100, body: 200, sent: 300 } }, 'delivered'),
  row('twice', { row: 'twice' }, 'delivered'),
  row('in another chat', { row: 'elsewhere' }, 'TIMEOUT'),
  row('without a chat', { row: 'ghost' }, 'TIMEOUT'),
  row('with error 22', { error: 22 }, 'IMESSAGE_ERROR'),
  row('with error 25', { error: 25 }, 'IMESSAGE_ERROR'),
  row('with error 34', { error: 34 }, 'IMESSAGE_ERROR'),
  { name: 'the same text from the iPhone', expected: 'delivered', weight: COMMON, phone: true },
];
