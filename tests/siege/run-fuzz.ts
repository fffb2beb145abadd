import { connect } from 'node:net';
import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

import { EVENT_LOOP_SAMPLE_MS } from '@footbridge/service/platform/metrics/metrics';
import type { Cleanup } from '@footbridge/testkit/cleanup';
import { connectMac } from '@footbridge/testkit/mac';
import type { LogLine } from '@footbridge/testkit/program';
import { seeded } from '@footbridge/testkit/seeded';

import { FuzzInputs } from './fuzz-inputs.ts';
import { startStage } from './stage.ts';
import type { Stage } from './stage.ts';

export interface FuzzReport {
  readonly seed: number;
  readonly inputs: Readonly<Record<'webhooks' | 'uploads' | 'http' | 'frames', number>>;
  /** Status → number of responses. */
  readonly statuses: Readonly<Record<string, number>>;
  readonly serverErrors: number;
  /** Whether the service has not exited. */
  readonly isRunning: boolean;
  /** The errors that the service logged. */
  readonly errors: readonly LogLine[];
  /** Excludes the interval of the timer that measures it. */
  readonly eventLoopLagP99Ms: number;
  readonly memoryMiB: number;
  /** Of the machine over the last 15 minutes: on a busy machine the lag says little about the service. */
  readonly loadAverage: number;
  readonly seconds: number;
}

const PIPELINED = 16;
const CONNECTIONS = 8;
const MIB = 1_048_576;
const EXIT_KNOWN_WITHIN_MS = 5000;

/** Of a hundred connections 72 send webhooks, 16 uploads and other calls and 2 frames, 16 each, and 10 send bytes that are hardly HTTP. */
export async function fuzz(
  cleanup: Cleanup,
  { inputs, seed, maxSeconds }: { inputs: number; seed: number; maxSeconds: number },
): Promise<FuzzReport> {
  const stage = await startStage(cleanup);
  const make = new FuzzInputs(seeded(seed), stage.crm.key);
  const counts = { webhooks: 0, uploads: 0, http: 0, frames: 0 };
  const statuses: Record<string, number> = {};
  const note = (bytes: string) => {
    for (const [, status = ''] of bytes.matchAll(/HTTP\/1\.1 (\d{3}) /g))
      statuses[status] = (statuses[status] ?? 0) + 1;
  };
  const since = performance.now();
  let rest = inputs;
  let device = 0;

  async function next(): Promise<void> {
    const kind = make.number(100);
    if (kind < 10) {
      rest--;
      counts.http++;
      return note(await exchange(stage, make.http(), 'then close'));
    }
    if (kind < 12) {
      rest -= PIPELINED;
      counts.frames += PIPELINED;
      return sendFrames(
        stage,
        `mac-fuzz-${device++ % 50}`,
        Array.from({ length: PIPELINED }, () => make.frame()),
      );
    }
    rest -= PIPELINED;
    const isUpload = kind < 28;
    counts[isUpload ? 'uploads' : 'webhooks'] += PIPELINED;
    const requests = Array.from({ length: PIPELINED }, () => (isUpload ? make.upload() : make.webhook()));
    note(await exchange(stage, Buffer.concat([...requests, LAST]), 'keep open'));
  }

  const { service } = stage;
  const work = async () => {
    while (service.isRunning && rest > 0 && performance.now() - since < maxSeconds * 1000) await next();
  };
  try {
    await Promise.all(Array.from({ length: CONNECTIONS }, work));
  } catch (error) {
    // When the service exits, calls fail before its exit is noticed.
    await Promise.race([service.exited, sleep(EXIT_KNOWN_WITHIN_MS)]);
    if (service.isRunning) throw error;
  }
  const metric = async (name: string) => (service.isRunning ? stage.metric(name) : Number.NaN);
  return {
    seed,
    inputs: counts,
    statuses,
    serverErrors: Object.entries(statuses).reduce(
      (sum, [status, count]) => sum + (status >= '500' ? count : 0),
      0,
    ),
    isRunning: service.isRunning,
    errors: service.logs.filter(isError),
    eventLoopLagP99Ms: 1000 * (await metric('nodejs_eventloop_lag_p99_seconds')) - EVENT_LOOP_SAMPLE_MS,
    memoryMiB: (await metric('process_resident_memory_bytes')) / MIB,
    loadAverage: loadavg()[2] ?? 0,
    seconds: (performance.now() - since) / 1000,
  };
}

function isError({ level = 'error' }: LogLine): boolean {
  return level === 'error';
}

/** Makes the service close the connection after its responses. */
const LAST = Buffer.from('GET /nothing HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');

/**
 * Writes bytes to a new connection. Resolves with the data received until the connection closes. An incomplete request keeps the connection
 * open until its deadline, so the client closes its side. With complete requests it must not: the service would drop those still waiting.
 */
function exchange(stage: Stage, bytes: Buffer, side: 'keep open' | 'then close'): Promise<string> {
  const { hostname, port } = new URL(stage.service.url);
  return new Promise((resolve) => {
    let text = '';
    const socket = connect(Number(port), hostname, () =>
      side === 'keep open' ? socket.write(bytes) : socket.end(bytes),
    );
    const done = () => resolve(text);
    socket.setEncoding('latin1').on('data', (part: string) => (text += part));
    socket.on('close', done).on('error', done);
  });
}

async function sendFrames(stage: Stage, deviceId: string, frames: readonly string[]): Promise<void> {
  const token = await stage.token(deviceId);
  const mac = await connectMac(stage.service.url, { token }).catch(() => undefined);
  if (mac === undefined) return;
  for (const frame of frames) if (mac.isOpen) mac.sendRaw(frame);
  await mac.close();
}
