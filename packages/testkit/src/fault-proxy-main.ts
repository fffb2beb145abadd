import { parseArgs } from 'node:util';
import { createControl } from './control.ts';
import { startFaultProxy } from './fault-proxy.ts';
import type { FaultProxy } from './fault-proxy.ts';
import { operationsOf } from './fault-proxy/operations.ts';
import { closeHttp, listen } from './loopback.ts';

/**
 * `node fault-proxy-main.ts --link crm=127.0.0.1:4700 --link redis=127.0.0.1:6379@16379 [--control-port N] [--seed N]`
 * The number after @ is the port to listen on. Prints one JSON line when it is ready.
 */
const { values } = parseArgs({
  options: {
    link: { type: 'string', multiple: true, default: [] },
    'control-port': { type: 'string', default: '0' },
    seed: { type: 'string', default: '1' },
  },
});

const links = new Map<string, FaultProxy>();
for (const link of values.link) {
  const [, name, to, port] = /^([^=]+)=([^@]+)(?:@(\d+))?$/.exec(link) ?? [];
  if (name === undefined || to === undefined) {
    process.stderr.write(`--link ${link} is invalid: use name=host:port or name=host:port@listen\n`);
    process.exit(2);
  }
  links.set(name, await startFaultProxy({ to, port: Number(port ?? 0), seed: Number(values.seed) }));
}
const control = createControl(operationsOf(links));
const controlUrl = `http://127.0.0.1:${await listen(control, Number(values['control-port']))}`;

async function stop(): Promise<void> {
  await Promise.all([closeHttp(control), ...[...links.values()].map((proxy) => proxy.stop())]);
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop());

const addresses = Object.fromEntries([...links].map(([name, proxy]) => [name, proxy.address]));
process.stdout.write(`${JSON.stringify({ msg: 'fault proxy ready', controlUrl, links: addresses })}\n`);
