/**
 * Places at which a test crashes the process. `FAILPOINTS=inbound.afterClaim:kill,oauth.beforeCommit:pause:15000` lists
 * what happens when the process reaches one:
 * - `name:kill` sends SIGKILL to the process, `name:kill@3` the third time;
 * - `name:pause:15000` waits for this number of milliseconds;
 * - `name:throw` throws an error.
 */
export type Failpoint = (name: string) => void | Promise<void>;

/** A failpoint in synchronous code. A pause blocks the thread. */
export type BlockingFailpoint = (name: string) => void;

export const noFailpoints: BlockingFailpoint = () => {};

const ENTRY = /^([\w.-]+):(?:kill(?:@(\d+))?|pause:(\d+)|(throw))$/;
export const FAILPOINT_RULE = 'must be a list of name:kill, name:kill@N, name:pause:ms or name:throw';

export const isFailpointList = (list: string): boolean =>
  list.split(',').every((entry) => ENTRY.test(entry.trim()));

/** Returns undefined without a setting, so that no caller awaits a failpoint in production. */
export function createFailpoints(list: string | undefined): Failpoint | undefined {
  return failpointsOf(list, (ms) => new Promise((resolve) => setTimeout(resolve, ms)));
}

/** For callers that cannot await. */
export function createBlockingFailpoints(list: string | undefined): BlockingFailpoint {
  return (
    failpointsOf(list, (ms) => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)) ??
    noFailpoints
  );
}

function failpointsOf<Paused>(
  list: string | undefined,
  pause: (ms: number) => Paused,
): ((name: string) => Paused | undefined) | undefined {
  if (list === undefined || list === '') return undefined;
  const actions = new Map(list.split(',').map((entry) => actionOf(entry.trim(), pause)));
  return (name) => actions.get(name)?.();
}

function actionOf<Paused>(
  entry: string,
  pause: (ms: number) => Paused,
): [name: string, action: () => Paused | undefined] {
  const [, name, visits, ms, error] = ENTRY.exec(entry) ?? [];
  if (name === undefined) throw new Error(`FAILPOINTS ${FAILPOINT_RULE}, not "${entry}"`);
  if (ms !== undefined) return [name, () => pause(Number(ms))];
  if (error !== undefined) return [name, () => fail(name)];
  let left = Number(visits ?? 1);
  return [name, () => (--left <= 0 ? kill() : undefined)];
}

function fail(name: string): never {
  throw new Error(`failpoint ${name}`);
}

function kill(): undefined {
  process.kill(process.pid, 'SIGKILL');
}
