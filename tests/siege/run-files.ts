import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Cleanup } from '@footbridge/testkit/cleanup';

import { HOSTILE_FILES } from './hostile-files.ts';
import type { HostileFile } from './hostile-files.ts';
import { MEMORY_PROBE, startStage } from './stage.ts';
import type { Stage } from './stage.ts';

export interface FileReport {
  readonly name: string;
  /** Status → number of responses. */
  readonly statuses: Readonly<Record<number, number>>;
  readonly seconds: number;
  readonly accepted: number;
  readonly sent: number;
  readonly p99Ms: number;
  /** The most that was in use, without garbage, more than before. */
  readonly addedBytes: number;
  readonly load: number;
  readonly isRunning: boolean;
}

/** A service may have this heap, and keeps some gigabytes of files. */
const HEAP_MB = 256;
const QUOTA_MB = 50_000;
const PER_MINUTE = 600;

/** A service with a small heap, and a tenant with honest traffic. */
async function startFileStage(cleanup: Cleanup): Promise<Stage> {
  const stage = await startStage(cleanup, async () => ({
    NODE_OPTIONS: `--max-old-space-size=${HEAP_MB} --import ${MEMORY_PROBE}`,
    ASSET_QUOTA_MB: String(QUOTA_MB),
  }));
  await stage.honest(2);
  return stage;
}

/** Uploads one file after the other, from a Mac of its own, for as long as the honest traffic lasts. */
async function uploadFiles(
  stage: Stage,
  name: string,
  files: readonly HostileFile[],
  how: { readonly seconds: number; readonly perMinute?: number },
): Promise<FileReport> {
  const mac = name.replaceAll(/\W/g, '');
  const { token } = await stage.device(`mac-${mac}`, `loc${mac}`);
  const bodies = files.map(({ make }) => make());
  const statuses: Record<number, number> = {};
  const before = await stage.memory();
  const since = performance.now();
  const done = new AbortController();
  const send = async (body: Uint8Array<ArrayBuffer>) => {
    const headers = { Authorization: `Bearer ${token}` };
    const call = fetch(`${stage.service.url}/mac/assets`, { method: 'POST', headers, body });
    const status = await call.then(
      async (response) => {
        await response.arrayBuffer();
        return response.status;
      },
      () => 0,
    );
    statuses[status] = (statuses[status] ?? 0) + 1;
  };
  const uploads = (async () => {
    const running = new Set<Promise<void>>();
    for (let index = 0; !done.signal.aborted || index < bodies.length; index++) {
      const body = bodies[index % bodies.length] ?? new Uint8Array();
      if (how.perMinute === undefined) await send(body);
      else {
        const one: Promise<void> = send(body).finally(() => running.delete(one));
        running.add(one);
        await sleep(60_000 / how.perMinute);
      }
      if (!stage.service.isRunning) break;
    }
    await Promise.all(running);
  })();
  const { sent, accepted, p99Ms } = await stage.honest(how.seconds);
  // While uploads are under way; not before, because collecting garbage delays webhooks.
  const during = stage.service.isRunning ? await stage.memory() : before;
  done.abort();
  await uploads;
  const { isRunning } = stage.service;
  const after = isRunning ? await stage.memory() : before;
  return {
    name,
    statuses,
    seconds: (performance.now() - since) / 1000,
    accepted,
    sent,
    p99Ms,
    addedBytes: Math.max(during, after) - before,
    load: loadavg()[0] ?? 0,
    isRunning,
  };
}

/** Each file alone, again and again, and then all that are small at 600 a minute. */
export async function* runFiles(
  cleanup: Cleanup,
  { seconds, only }: { seconds: number; only: string },
): AsyncGenerator<FileReport> {
  const stage = await startFileStage(cleanup);
  const chosen = HOSTILE_FILES.filter(({ name }) => name.includes(only));
  for (const file of chosen) yield await uploadFiles(stage, file.name, [file], { seconds });
  const small = chosen.filter(({ make }) => make().byteLength < 1_000_000);
  if (small.length > 0)
    yield await uploadFiles(stage, `${PER_MINUTE} small files a minute`, small, {
      seconds,
      perMinute: PER_MINUTE,
    });
  const large = chosen.filter(({ make }) => make().byteLength >= 1_000_000).slice(0, 4);
  if (large.length > 0)
    yield await uploadFiles(stage, `${PER_MINUTE} large files a minute`, large, {
      seconds,
      perMinute: PER_MINUTE,
    });
}
