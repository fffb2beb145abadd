import type { StatusCode } from '@footbridge/protocol/codes';

import type { SendLine } from './programs/send.ts';
import { failed } from '../../../outcome.ts';
import type { Failed } from '../../../outcome.ts';

/** Apple event errors that occur before anything is sent, by number. */
const EVENT_ERRORS: Readonly<Record<number, { readonly code: StatusCode; readonly message: string }>> = {
  [-1743]: {
    code: 'AX_DENIED',
    message:
      'macOS does not allow the agent to control Messages. Allow it in System Settings, Privacy & Security, Automation',
  },
  [-1728]: { code: 'IMESSAGE_ERROR', message: 'error -1728: Messages does not know this recipient or chat' },
  [-1700]: { code: 'IMESSAGE_ERROR', message: 'error -1700: Messages does not accept this service' },
  [-600]: { code: 'IMESSAGE_ERROR', message: 'error -600: Messages is not running and could not be started' },
  [-609]: { code: 'IMESSAGE_ERROR', message: 'error -609: the connection to Messages was lost' },
  [-1712]: { code: 'IMESSAGE_ERROR', message: 'error -1712: Messages did not respond' },
  [-10004]: { code: 'IMESSAGE_ERROR', message: 'error -10004: macOS does not allow this file or recipient' },
};

/** The errors that mean that Messages is not running. */
const NOT_RUNNING: ReadonlySet<number> = new Set([-600, -609, -1712]);

/** The errors with which Messages refuses an event. After any other error, Messages may have carried the event out. */
const REFUSALS: ReadonlySet<number> = new Set([-1743, -1728, -1700, -600, -10004]);

type UnresolvedReason = Extract<SendLine, { step: 'unresolved' }>['reason'];

const UNRESOLVED: Readonly<Record<UnresolvedReason, string>> = {
  no_account:
    'Messages has no connected account for this service. Sign in, or allow text message forwarding on the iPhone.',
  no_chat: 'Messages does not know this group. Open it once in Messages.',
  other_members: 'The group in Messages has other members than the request.',
};

/** Returns the failure for an Apple event error before the send. */
export function eventFailure(number: number): Failed {
  const known = EVENT_ERRORS[number];
  const { code, message } = known ?? {
    code: 'IMESSAGE_ERROR',
    message: `error ${number}: Messages did not accept the message`,
  };
  return failed(code, `${message}. Nothing was sent.`);
}

export function isNotRunning(number: number): boolean {
  return NOT_RUNNING.has(number);
}

export function isRefusal(number: number): boolean {
  return REFUSALS.has(number);
}

/** Returns the failure for a recipient that Messages does not have. */
export function unresolvedFailure(reason: UnresolvedReason): Failed {
  return failed('IMESSAGE_ERROR', `${UNRESOLVED[reason]} Nothing was sent.`);
}
