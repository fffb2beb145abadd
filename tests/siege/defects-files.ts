import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

import { Converter } from '@footbridge/media/converter';
import { writeFooter } from '@footbridge/protocol/footer';
import { startAgent } from '@footbridge/testkit/agent';
import { certificateFor } from '@footbridge/testkit/certificate';
import { tempDir } from '@footbridge/testkit/cleanup';
import type { Cleanup } from '@footbridge/testkit/cleanup';
import { endsAt } from '@footbridge/testkit/fatal-text';
import { closeHttp, listen } from '@footbridge/testkit/loopback';
import { until } from '@footbridge/testkit/until';

import { repeat, upload } from './attacks.ts';
import type { Attack } from './attacks.ts';
import { pngOf, repeatedTo } from './hostile-files.ts';
import { ATTACKER, MEMORY_PROBE, startStage } from './stage.ts';
import type { Stage } from './stage.ts';

const MIB = 1_048_576;
const PHONE = '+14155550177';
const DEEP = { lists: `${'[0,'.repeat(30_000)}"`, objects: `${'{"a":0,"b":'.repeat(11_000)}nul` };

/** The most memory that a process ever had. */
const peakBytes = (pid: number) =>
  1024 * Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);

/** An agent of the attacker, whose customers send it what the CRM sends it. */
async function agentOf(stage: Stage, cleanup: Cleanup, env: Record<string, string>) {
  const { key } = await stage.service.license(1, 'agent');
  const locationId = 'locAgent000000000001';
  await fetch(`${stage.service.url}/oauth/callback/crm?code=${stage.crm.install({ locationId })}`);
  const agent = await startAgent({
    url: stage.service.url,
    license: key,
    location: locationId,
    env: { FOOTBRIDGE_ALLOW_LOOPBACK: 'true', ...env },
  });
  cleanup.add(() => agent.stop());
  await agent.registered();
  const { chatId } = await agent.say(PHONE, { text: 'hello' });
  return { agent, chatId, locationId };
}

/** Starts a service again whenever it ends, and counts that. */
function supervise({ service }: Stage, cleanup: Cleanup): { ends: number } {
  const supervised = { ends: 0 };
  let isDone = false;
  cleanup.add(() => (isDone = true));
  const keepUp = async (): Promise<void> => {
    await service.exited;
    if (isDone) return;
    supervised.ends++;
    await service.start();
    return keepUp();
  };
  void keepUp();
  return supervised;
}

/** What files, and other bytes that a parser reads, do to the process that reads them. */
export const FILE_DEFECTS: Readonly<Record<string, Attack>> = {
  'files of overlapping zip headers': async (stage, cleanup) => {
    const { token } = await stage.device('mac-zip-headers', 'locZipHeaders');
    const file = repeatedTo('PK\x03\x04\xff\xff\xff', 65_536);
    repeat(cleanup, 10, () => upload(stage, token, file));
  },

  'JSON with an error inside of thousands of lists': async ({ service }, cleanup) => {
    const headers = { 'Content-Type': 'application/json' };
    for (const body of Object.values(DEEP))
      repeat(cleanup, 30, async () =>
        (await fetch(`${service.url}/crm/webhook`, { method: 'POST', headers, body })).text(),
      );
    return { verify: async () => (service.isRunning ? undefined : 'the service ended') };
  },

  'a sticker that inflates a thousandfold, on an agent': async (stage, cleanup) => {
    const { key, cert } = certificateFor('localhost');
    const trusted = join(await tempDir(cleanup), 'ca.pem');
    writeFileSync(trusted, cert);
    const image = pngOf(3900, 3900);
    const server = createServer({ key, cert }, (_request, response) => response.end(image));
    cleanup.add(() => closeHttp(server));
    const url = `https://localhost:${await listen(server)}/s.png`;
    const { agent, chatId, locationId } = await agentOf(stage, cleanup, { NODE_EXTRA_CA_CERTS: trusted });
    const before = peakBytes(agent.pid);
    const message = writeFooter('', { chat_id: chatId, sticker: { url } });
    const ids = ['sticker-1', 'sticker-2', 'sticker-3'];
    for (const messageId of ids)
      await stage.crm.sendWebhook({ locationId, phone: PHONE, message, messageId });
    return {
      async verify() {
        const isDone = () =>
          ids.every((id) => ['delivered', 'failed'].includes(stage.crm.accepted(id).at(-1) ?? ''));
        await until(isDone, { within: 120_000, what: 'the statuses of the stickers' });
        const grown = peakBytes(agent.pid) - before;
        return grown > 64 * MIB ? `the agent took ${Math.round(grown / MIB)} MiB` : undefined;
      },
    };
  },

  'a converter process that floods its pipe': async (_stage, cleanup) => {
    const program = new URL('../../packages/media/src/testing/misbehaving-program.ts', import.meta.url);
    const folder = join(await tempDir(cleanup), 'converter');
    const converter = await Converter.open(folder, { warn: () => {} }, { program, timeoutMs: 10_000 });
    cleanup.add(() => converter.close());
    const before = process.memoryUsage.rss();
    let most = 0;
    let converted = 0;
    const floods = ['flood-junk', 'flood-empty', 'flood-small', 'flood-large', 'flood-later'];
    const done = (async () => {
      for (const flood of floods) {
        const source = async () => Readable.from([Buffer.from(flood)]);
        const { ok } = await converter.convert('png', source, 'siege');
        if (ok && flood !== 'flood-later') converted++;
        most = Math.max(most, process.memoryUsage.rss() - before);
      }
    })();
    return {
      async verify() {
        await done;
        if (converted > 0) return 'a flood counts as a result';
        return most > 128 * MIB
          ? `the process of the converter took ${Math.round(most / MIB)} MiB`
          : undefined;
      },
    };
  },

  'a message that ends the service': async (_stage, cleanup) => {
    const fatal = endsAt('POISON');
    const stage = await startStage(cleanup, async () => ({
      ...fatal,
      NODE_OPTIONS: `--import ${MEMORY_PROBE} ${fatal['NODE_OPTIONS']}`,
    }));
    const supervised = supervise(stage, cleanup);
    await stage.device('mac-poison', ATTACKER);
    const poison = () =>
      stage.crm.sendWebhook({ locationId: ATTACKER, phone: PHONE, message: 'POISON', messageId: 'poison' });
    for (let tries = 0; tries < 200; tries++) {
      const { status } = await poison().catch(() => ({ status: 0 }));
      if (status === 422) break;
      // The Mac does not come back by itself after a restart.
      if (status === 404) await stage.device('mac-poison', ATTACKER).catch(() => undefined);
      await sleep(500);
    }
    await stage.rejoin();
    const { ends } = supervised;
    repeat(cleanup, 10, poison);
    return {
      on: stage,
      async verify() {
        if (supervised.ends !== ends) return 'the service ended again';
        return ends === 2 ? undefined : `the service ended ${ends} times`;
      },
    };
  },
};
