/** Why a Mac's socket was closed. 4000–4499: come back. 4500–4999: stay away until a person says otherwise. */
export const CLOSE = {
  /** The service is going away: reconnect, with jitter. */
  goingAway: 1001,
  /** A frame was too large: reconnect, set that frame aside and report it. */
  tooLarge: 1009,
  /** The protocol was violated; the close reason says how. Wait a minute. */
  protocol: 4000,
  /** No `register` in time, or the Mac does not read. Reconnect with backoff. */
  slow: 4008,
  /** Too many frames unacknowledged. Reconnect with backoff. */
  window: 4013,
  /** Several Macs fight for the location; the close reason is the number of seconds to wait. */
  contended: 4029,
  /** Another Mac took over the location. */
  displaced: 4501,
  /** The license is suspended or the device revoked. */
  suspended: 4503,
  /** The location belongs to another license. */
  foreignLocation: 4504,
} as const;

export type CloseCode = (typeof CLOSE)[keyof typeof CLOSE];

/** Whether a Mac that was closed with this code must not come back by itself. Codes not listed above count too. */
export function staysAway(code: number): boolean {
  return code >= 4500 && code <= 4999;
}
