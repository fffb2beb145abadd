/**
 * Called at the places where a crash matters. A test kills the process there with `FAILPOINTS=step.sent:kill`; without
 * that setting the call does nothing.
 */
export type Failpoint = (name: string) => void;

export const noFailpoints: Failpoint = () => {};

/** `name:kill` sends SIGKILL to the process at that failpoint, `name:kill@3` the third time it is reached. */
export function createFailpoints(spec: string | undefined): Failpoint {
  if (spec === undefined || spec === '') return noFailpoints;
  const remaining = new Map<string, number>();
  for (const entry of spec.split(',')) {
    const match = /^([\w.-]+):kill(?:@(\d+))?$/.exec(entry.trim());
    if (match?.[1] === undefined) {
      throw new Error(`FAILPOINTS entry "${entry}" must be name:kill or name:kill@N`);
    }
    remaining.set(match[1], Number(match[2] ?? 1));
  }
  return (name) => {
    const left = remaining.get(name);
    if (left === undefined) return;
    remaining.set(name, left - 1);
    if (left <= 1) process.kill(process.pid, 'SIGKILL');
  };
}
