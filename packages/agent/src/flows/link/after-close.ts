import { CLOSE, staysAway } from '@footbridge/protocol/close-codes';

/** How a session ended, or why none was opened. */
export type SessionEnd =
  | { readonly how: 'unreachable'; readonly detail: string }
  /** The upgrade request got an HTTP status. */
  | {
      readonly how: 'rejected';
      readonly status: number;
      /** False for the page of a proxy or a captive portal. */
      readonly isFromService: boolean;
      readonly retryAfterMs: number | undefined;
    }
  | { readonly how: 'closed'; readonly code: number; readonly reason: string }
  /** Three pings were missed, or `registered` never came. The connection is dead even if TCP has not noticed. */
  | { readonly how: 'timeout' }
  /** The Mac was asleep. A connection from before the sleep may be dead. */
  | { readonly how: 'woke' }
  | { readonly how: 'stopped' };

export type NextAction =
  | {
      readonly do: 'reconnect';
      /** `jitter`: a short random delay. `backoff`: a delay that grows with each attempt. A number: milliseconds. */
      readonly wait: 'jitter' | 'backoff' | number;
      readonly because: string;
      /** The largest frame in flight must not be sent again. */
      readonly tooLarge?: true;
    }
  | { readonly do: 'renew-token' }
  | { readonly do: 'stay-away'; readonly code: number | string; readonly because: string }
  | { readonly do: 'stop' };

const DEFAULT_CONTENDED_S = 60;
const MAX_WAIT_MS = 10 * 60_000;

/** Returns what the agent does after a session ended, according to the close code or the HTTP status of the upgrade. */
export function afterClose(end: SessionEnd, options: { readonly protocolWaitMs: number }): NextAction {
  if (end.how === 'stopped') return { do: 'stop' };
  if (end.how === 'woke') return { do: 'reconnect', wait: 0, because: 'the Mac woke up' };
  if (end.how === 'timeout') return backoff('the service stopped responding');
  if (end.how === 'unreachable') return backoff(`the service cannot be reached (${end.detail})`);
  if (end.how === 'rejected') return afterStatus(end);
  return afterCloseCode(end, options.protocolWaitMs);
}

function afterStatus({
  status,
  isFromService,
  retryAfterMs,
}: Extract<SessionEnd, { how: 'rejected' }>): NextAction {
  // A proxy or a captive portal knows nothing about this Mac, and its rejections are temporary: they need no operator action.
  if (!isFromService)
    return retry(`a proxy or captive portal responded with HTTP ${status}, not the service`, retryAfterMs);
  if (status === 401) return { do: 'renew-token' };
  if (status === 403) return stayAway(CLOSE.suspended, 'the license is suspended');
  if (status === 426) {
    return stayAway(4500, 'the service uses another version of the channel: update the agent or the service');
  }
  return retry(`the service responded with HTTP ${status}`, retryAfterMs);
}

function afterCloseCode(
  { code, reason }: Extract<SessionEnd, { how: 'closed' }>,
  protocolWaitMs: number,
): NextAction {
  if (code === CLOSE.foreignLocation && reason !== '') return stayAway(code, reason);
  if (staysAway(code)) {
    return stayAway(code, STAY_AWAY_REASONS[code] ?? `the service closed the connection with ${code}`);
  }
  if (code === CLOSE.tooLarge) {
    return { do: 'reconnect', wait: 'backoff', because: 'a frame was too large', tooLarge: true };
  }
  if (code === CLOSE.protocol)
    return wait(protocolWaitMs, `the service reported a protocol violation: ${reason}`);
  if (code === CLOSE.contended) {
    const seconds = Number.parseFloat(/\d+(?:\.\d+)?/.exec(reason)?.[0] ?? '') || DEFAULT_CONTENDED_S;
    return wait(seconds * 1000, 'several Macs compete for this location');
  }
  // No backoff: a restart of the service is not a failure, and the CRM gets "not connected" until the Mac is back.
  if (code === CLOSE.goingAway)
    return { do: 'reconnect', wait: 'jitter', because: 'the service is restarting' };
  return backoff(`the connection closed (${code})`);
}

const STAY_AWAY_REASONS: Readonly<Record<number, string>> = {
  [CLOSE.displaced]: 'another Mac took over this location',
  [CLOSE.suspended]: 'the license is suspended or this device was revoked',
  [CLOSE.foreignLocation]: 'this location belongs to another license',
};

/** Reconnects after the delay that the service asked for, within a limit, else with backoff. */
export function retry(because: string, retryAfterMs: number | undefined): NextAction {
  return retryAfterMs === undefined ? backoff(because) : wait(retryAfterMs, because);
}

function backoff(because: string): NextAction {
  return { do: 'reconnect', wait: 'backoff', because };
}

function wait(ms: number, because: string): NextAction {
  return { do: 'reconnect', wait: Math.min(ms, MAX_WAIT_MS), because };
}

function stayAway(code: number, because: string): NextAction {
  return { do: 'stay-away', code, because };
}

/** `jitter` uses the bound of the third backoff attempt. */
export const JITTER_ATTEMPT = 2;

/** Returns a backoff delay with full jitter, so that many Macs do not reconnect at the same moment. */
export function backoffMs(
  attempt: number,
  random: number,
  bounds: { baseMs: number; capMs: number },
): number {
  return Math.floor(random * Math.min(bounds.capMs, bounds.baseMs * 2 ** Math.min(attempt, 30)));
}
