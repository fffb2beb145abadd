/**
 * Points at which tests crash the process. `FAILPOINTS=inbound.afterClaim:kill,oauth.beforeCommit:pause:15000` sends SIGKILL,
 * pauses, or throws when the process reaches the point. Without the setting there are none, and no caller awaits one.
 */
type Action = () => void | Promise<void>;

const ACTIONS: Record<string, (argument: string) => Action> = {
  kill: () => () => process.kill(process.pid, 'SIGKILL') && new Promise<void>(() => {}),
  pause: (ms) => () => new Promise((resolve) => setTimeout(resolve, Number(ms))),
  throw: () => () => {
    throw new Error('failpoint');
  },
};

function parse(setting: string): Map<string, Action> {
  const points = new Map<string, Action>();
  for (const entry of setting.split(',')) {
    const [name = '', action = '', argument = ''] = entry.trim().split(':');
    const make = ACTIONS[action];
    if (name !== '' && make !== undefined) points.set(name, make(argument));
  }
  return points;
}

export type Failpoint = (name: string) => void | Promise<void>;

export function createFailpoint(setting: string | undefined): Failpoint | undefined {
  if (setting === undefined || setting === '') return undefined;
  const points = parse(setting);
  return (name) => points.get(name)?.();
}
