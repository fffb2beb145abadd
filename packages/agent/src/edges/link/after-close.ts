import { CLOSE, staysAway } from '@footbridge/protocol/close-codes';

/** How a connection ended, or why there was none. */
export type Ended =
  | { readonly how: 'unreachable'; readonly detail: string }
  | { readonly how: 'refused'; readonly status: number; readonly retryAfterMs: number | undefined }
  | { readonly how: 'closed'; readonly code: number; readonly reason: string }
  /** No ping for three intervals, or no `registered`: the line is dead whatever TCP says. */
  | { readonly how: 'silent' }
  /** The Mac slept; what was open before is not to be trusted. */
  | { readonly how: 'woke' }
  | { readonly how: 'stopped' };

export type Next =
  | {
      readonly do: 'reconnect';
      /** `jitter`: soon, but not all at once. `backoff`: later each time. */
      readonly wait: 'jitter' | 'backoff' | number;
      readonly because: string;
      /** A frame of this connection is not to be sent again. */
      readonly tooLarge?: true;
    }
  | { readonly do: 'renew-token' }
  | { readonly do: 'stay-away'; readonly code: number | string; readonly because: string }
  | { readonly do: 'stop' };

const DEFAULT_CONTENDED_S = 60;
const MAX_WAIT_MS = 10 * 60_000;

/** What the Mac does then: the table of close codes, and of refusals before the upgrade. */
export function afterClose(ended: Ended, options: { readonly protocolWaitMs: number }): Next {
  if (ended.how === 'stopped') return { do: 'stop' };
  if (ended.how === 'woke') return { do: 'reconnect', wait: 0, because: 'the Mac woke up' };
  if (ended.how === 'silent') return backoff('the service fell silent');
  if (ended.how === 'unreachable') return backoff(`the service cannot be reached (${ended.detail})`);
  if (ended.how === 'refused') return afterRefusal(ended);
  return afterCloseCode(ended, options.protocolWaitMs);
}

function afterRefusal({ status, retryAfterMs }: Extract<Ended, { how: 'refused' }>): Next {
  if (status === 401) return { do: 'renew-token' };
  if (status === 403) return away(CLOSE.suspended, 'the license is suspended');
  if (status === 426) {
    return away(4500, 'the service speaks another version of the channel: update the agent or the service');
  }
  const because = `the service answered ${status}`;
  if (retryAfterMs !== undefined) return wait(retryAfterMs, because);
  return backoff(because);
}

function afterCloseCode({ code, reason }: Extract<Ended, { how: 'closed' }>, protocolWaitMs: number): Next {
  if (staysAway(code)) return away(code, AWAY[code] ?? `the service said so (${code})`);
  if (code === CLOSE.tooLarge) {
    return { do: 'reconnect', wait: 'backoff', because: 'a frame was too large', tooLarge: true };
  }
  if (code === CLOSE.protocol)
    return wait(protocolWaitMs, `the service saw the protocol violated: ${reason}`);
  if (code === CLOSE.contended) {
    const seconds = Number.parseFloat(/\d+(?:\.\d+)?/.exec(reason)?.[0] ?? '') || DEFAULT_CONTENDED_S;
    return wait(seconds * 1000, 'several Macs fight for this location');
  }
  // Not a failure: while the Mac is away the CRM is told that nobody is there.
  if (code === CLOSE.goingAway)
    return { do: 'reconnect', wait: 'jitter', because: 'the service is going away' };
  return backoff(`the connection closed (${code})`);
}

const AWAY: Readonly<Record<number, string>> = {
  [CLOSE.displaced]: 'another Mac took over this location',
  [CLOSE.suspended]: 'the license is suspended or this device was revoked',
  [CLOSE.foreignLocation]: 'this location belongs to another license',
};

function backoff(because: string): Next {
  return { do: 'reconnect', wait: 'backoff', because };
}

function wait(ms: number, because: string): Next {
  return { do: 'reconnect', wait: Math.min(ms, MAX_WAIT_MS), because };
}

function away(code: number, because: string): Next {
  return { do: 'stay-away', code, because };
}

/** For `jitter`: the bound of the third attempt. */
export const JITTER_ATTEMPT = 2;

/** Full jitter: anything between nothing and twice the last bound, so that a thousand Macs do not come back at once. */
export function backoffMs(
  attempt: number,
  random: number,
  bounds: { baseMs: number; capMs: number },
): number {
  return Math.floor(random * Math.min(bounds.capMs, bounds.baseMs * 2 ** Math.min(attempt, 30)));
}
