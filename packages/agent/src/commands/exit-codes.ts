/** The exit codes of all commands. They are stable: supervisors and scripts depend on them. */
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
 * Returns the exit code of an agent that must not reconnect: 50 plus the last digit of the close code (51 displaced, 53 suspended or
 * revoked, 54 location of another license). A supervisor must not restart the agent after such a code.
 */
export function exitCodeWhenAway(code: number | string): number {
  if (typeof code === 'string') return EXIT.unauthorised;
  return code > 4500 && code < 4510 ? 50 + (code - 4500) : 50;
}
