/** WebSocket close codes sent to a Mac. 4000–4499: reconnect. 4500–4999: do not reconnect until a person intervenes. */
export const CLOSE = {
  /** The service is shutting down. Reconnect with jitter. */
  goingAway: 1001,
  /** A frame was too large. Reconnect, set that frame aside and report it. */
  tooLarge: 1009,
  /** The Mac violated the protocol; the close reason has the details. Reconnect after a minute. */
  protocol: 4000,
  /** `register` did not arrive in time, or the Mac stopped reading. Reconnect with backoff. */
  slow: 4008,
  /** Too many frames are unacknowledged. Reconnect with backoff. */
  window: 4013,
  /** Several Macs compete for the location. Reconnect after the number of seconds in the close reason. */
  contended: 4029,
  /** Another Mac took over the location. */
  displaced: 4501,
  /** The license is suspended or the device revoked. */
  suspended: 4503,
  /** The location belongs to another license. */
  foreignLocation: 4504,
} as const;

export type CloseCode = (typeof CLOSE)[keyof typeof CLOSE];

/** Returns whether a Mac must not reconnect by itself after this close code. The range includes codes not listed above. */
export function staysAway(code: number): boolean {
  return code >= 4500 && code <= 4999;
}
