// Imports a long list of opt-outs while other requests are measured: node scripts/run.mjs bench/opt-out-list.ts [--rows 1000000]
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { ed25519Key, signedRequest } from '@footbridge/testkit/keys';
import { startService } from '@footbridge/testkit/service';

import { print, printTimes, probe, startCommand, timed } from './measure/beside-a-command.ts';
import { numberOptions } from './measure/number-options.ts';

const { rows } = numberOptions({ rows: 1_000_000 });
const LOCATION = 'loc1';
const LOOK_UPS = 2000;

const numberOf = (index: number) => `+1415${2_000_000 + index}`;
const peakMegabytes = (pid: number) =>
  Math.round(Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024);

const cleanup = createCleanup();
try {
  const key = ed25519Key();
  const service = await startService({
    env: {
      CRM_PUBLIC_KEY: key.publicKey,
      OPT_OUT_ENFORCED: 'true',
      RATE_LIMIT_CRM_WEBHOOK: '1000000',
      CRM_OAUTH_ENCRYPTION_KEY: randomBytes(32).toString('hex'),
    },
  });
  cleanup.add(() => service.stop());
  const list = join(await tempDir(cleanup), 'list.txt');
  await writeFile(list, Array.from({ length: rows }, (_, index) => `${numberOf(index)}\n`).join(''));
  const webhook = async (index: number) => {
    const body = { locationId: LOCATION, contactId: 'c', phone: numberOf(index), message: 'x' };
    return (await fetch(`${service.url}/crm/webhook`, signedRequest(body, key))).text();
  };
  const lookUps = async () => {
    const times: number[] = [];
    for (let index = 0; index < LOOK_UPS; index++)
      times.push(await timed(() => webhook(Math.floor((index * rows * 2) / LOOK_UPS))));
    return times;
  };

  printTimes('webhook, empty list', await lookUps());
  print('peak memory of the service', `${peakMegabytes(service.pid)} MB`);
  const command = startCommand(['opt-out', 'import', list, '--location', LOCATION], {
    FOOTBRIDGE_OPERATOR_URL: service.operatorUrl,
    OPERATOR_TOKEN: service.operatorToken,
  });
  const times = await probe(service, () => command.ended);
  print(`import of ${rows} numbers`, `${command.seconds.toFixed(1)} s`);
  printTimes('GET /livez meanwhile', times);
  print('peak memory of the service', `${peakMegabytes(service.pid)} MB`);
  printTimes(`webhook, list of ${rows}`, await lookUps());
} finally {
  await cleanup.run();
}
