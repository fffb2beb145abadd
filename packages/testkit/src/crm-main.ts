import { parseArgs } from 'node:util';
import { createControl } from './control.ts';
import { startCrm } from './crm.ts';
import { operationsOf } from './crm/operations.ts';
import { closeHttp, listen } from './loopback.ts';

/** `node crm-main.ts [--port N] [--control-port N] [--bridge-url URL] [--client-id ID] [--client-secret SECRET]`. Prints one JSON line when it is ready. */
const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    'control-port': { type: 'string', default: '0' },
    'bridge-url': { type: 'string' },
    'client-id': { type: 'string' },
    'client-secret': { type: 'string' },
  },
});
const { 'bridge-url': bridgeUrl, 'client-id': clientId, 'client-secret': clientSecret } = values;
const crm = await startCrm({
  port: Number(values.port),
  ...(bridgeUrl === undefined ? {} : { bridgeUrl }),
  settings: {
    ...(clientId === undefined ? {} : { clientId }),
    ...(clientSecret === undefined ? {} : { clientSecret }),
  },
});
const control = createControl(operationsOf(crm));
const controlUrl = `http://127.0.0.1:${await listen(control, Number(values['control-port']))}`;

async function stop(): Promise<never> {
  await Promise.all([closeHttp(control), crm.stop()]);
  process.exit(0);
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop());

const { url, tokenUrl, settings } = crm;
process.stdout.write(
  `${JSON.stringify({
    msg: 'crm ready',
    url,
    tokenUrl,
    controlUrl,
    publicKey: crm.key.publicKey,
    clientId: settings.clientId,
    clientSecret: settings.clientSecret,
  })}\n`,
);
