import { parseArgs } from 'node:util';
import { startCrm } from './crm.ts';

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
  controlPort: Number(values['control-port']),
  ...(bridgeUrl === undefined ? {} : { bridgeUrl }),
  settings: {
    ...(clientId === undefined ? {} : { clientId }),
    ...(clientSecret === undefined ? {} : { clientSecret }),
  },
});
const { url, tokenUrl, controlUrl, settings } = crm;
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

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void crm.stop().then(() => process.exit(0)));
}
