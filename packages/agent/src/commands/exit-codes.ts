/** How the command ends. Stable: supervisors and scripts build on it. */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  configuration: 3,
  unauthorised: 4,
  unreachable: 7,
  doctor: 9,
  bug: 70,
  interrupted: 130,
} as const;

/**
 * After the service said to stay away: 50 and the last digit of the close code (51 displaced, 53 suspended or revoked,
 * 54 the location of another license). A supervisor must not start the agent again by itself.
 */
export function exitCodeWhenAway(code: number | string): number {
  if (typeof code === 'string') return EXIT.unauthorised;
  return code > 4500 && code < 4510 ? 50 + (code - 4500) : 50;
}
