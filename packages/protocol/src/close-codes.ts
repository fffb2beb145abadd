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

export interface CloseCodeEntry {
  readonly code: number;
  readonly name: string;
  readonly meaning: string;
  readonly advice: string;
}

/** What each close code means to the operator and the owner of a Mac. `footbridge explain` shows it. */
export const CLOSE_CODES: readonly CloseCodeEntry[] = [
  {
    code: 1000,
    name: 'normal closure',
    meaning: 'The Mac ended the connection, for example because its agent was stopped.',
    advice: 'Nothing, or start the agent again.',
  },
  {
    code: CLOSE.goingAway,
    name: 'going away',
    meaning: 'The service is shutting down or restarting.',
    advice: 'Nothing: the Mac reconnects by itself.',
  },
  {
    code: 1006,
    name: 'abnormal closure',
    meaning: 'The connection broke without a close frame: network, sleep, proxy or a killed process.',
    advice:
      'Nothing: the Mac reconnects by itself. If it happens often, check the idle timeout of the proxy.',
  },
  {
    code: CLOSE.tooLarge,
    name: 'frame too large',
    meaning: 'A frame was larger than the limit.',
    advice: 'Update the agent; it sets the frame aside and reports it.',
  },
  {
    code: CLOSE.protocol,
    name: 'protocol',
    meaning:
      'The Mac violated the protocol, reconnected elsewhere or was disconnected by the operator; the close reason has the details.',
    advice: 'The Mac reconnects after a minute. If it repeats, update the agent.',
  },
  {
    code: CLOSE.slow,
    name: 'slow',
    meaning: 'The Mac did not register in time, or stopped reading.',
    advice: 'The Mac reconnects with backoff. Check its network and load.',
  },
  {
    code: CLOSE.window,
    name: 'window',
    meaning: 'Too many frames from the Mac are unacknowledged.',
    advice: 'The Mac reconnects with backoff. Check whether the CRM accepts calls: footbridge issues.',
  },
  {
    code: CLOSE.contended,
    name: 'contended',
    meaning: 'Several Macs compete for one location; the close reason has the seconds to wait.',
    advice: 'Find the second Mac with footbridge device list, and deactivate it or give it its own location.',
  },
  {
    code: CLOSE.displaced,
    name: 'displaced',
    meaning: 'Another Mac took over the location. This one stays away.',
    advice: 'If this Mac is the right one, stop the other one and start this agent again.',
  },
  {
    code: CLOSE.suspended,
    name: 'suspended',
    meaning: 'The license is suspended or revoked, or the device is revoked. The Mac stays away.',
    advice: 'footbridge license resume or footbridge device restore, then start the agent again.',
  },
  {
    code: CLOSE.foreignLocation,
    name: 'foreign location',
    meaning:
      'The location belongs to another license, or must be assigned first, or the Mac was paired with a code for another location. The Mac stays away.',
    advice:
      'footbridge location assign LOCATION LICENSE, or footbridge device pair LOCATION for a new code; then start the agent again.',
  },
];

/** Returns the meaning of a close code; for an unknown one in our ranges, the meaning of its range. */
export function closeCodeEntry(code: number): CloseCodeEntry | undefined {
  const entry = CLOSE_CODES.find((one) => one.code === code);
  if (entry !== undefined || code < 4000 || code > 4999) return entry;
  return staysAway(code)
    ? {
        code,
        name: 'stay away',
        meaning: 'A code from a newer version: the Mac must not reconnect by itself.',
        advice: 'Update the agent and read the close reason in its log.',
      }
    : {
        code,
        name: 'come back',
        meaning: 'A code from a newer version: the Mac reconnects by itself.',
        advice: 'Update the agent and read the close reason in its log.',
      };
}
