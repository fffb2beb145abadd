/**
 * Marked places where a test can end the process as a power cut would: `FAILPOINTS=steps.after-send:kill`.
 * With nothing set, which is always so outside tests, the function does nothing at all.
 */
export type Failpoint = (name: string) => void;

export const noFailpoints: Failpoint = () => {};

/** `name:kill` ends the process with SIGKILL there; `name:kill@3` does so the third time it passes. */
export function createFailpoints(spec: string | undefined): Failpoint {
  if (spec === undefined || spec === '') return noFailpoints;
  const remaining = new Map<string, number>();
  for (const entry of spec.split(',')) {
    const match = /^([\w.-]+):kill(?:@(\d+))?$/.exec(entry.trim());
    if (match?.[1] === undefined) {
      throw new Error(`FAILPOINTS entry "${entry}" is not of the form name:kill or name:kill@N`);
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
