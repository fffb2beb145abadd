import { parseArgs } from 'node:util';
import { startCrm } from './crm.ts';

/** `node crm-main.ts [--port N] [--control-port N] [--bridge-url URL]`: prints one JSON line when it is ready. */
const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    'control-port': { type: 'string', default: '0' },
    'bridge-url': { type: 'string' },
  },
});
const bridgeUrl = values['bridge-url'];
const crm = await startCrm({
  port: Number(values.port),
  controlPort: Number(values['control-port']),
  ...(bridgeUrl === undefined ? {} : { bridgeUrl }),
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
