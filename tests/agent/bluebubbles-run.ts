import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import type { MessageStatusFrame } from '@footbridge/protocol/frames';
import { DEFAULT_SETTINGS, startBlueBubbles } from '@footbridge/testkit/bluebubbles';
import type { SimulatedBlueBubbles } from '@footbridge/testkit/bluebubbles';
import type { Cleanup } from '@footbridge/testkit/cleanup';
import { startSimulatedMacos } from '@footbridge/testkit/macos';
import { seeded } from '@footbridge/testkit/seeded';
import { until } from '@footbridge/testkit/until';

import { planJobs, SMS_PEOPLE } from './bluebubbles-jobs.ts';
import type { PlannedJob, RunSize } from './bluebubbles-jobs.ts';
import { judge } from './bluebubbles-verdicts.ts';
import type { RunReport } from './bluebubbles-verdicts.ts';
import { describeRequest } from './describe-request.ts';
import { always, serveFiles } from '@footbridge/testkit/file-server';
import { MacAgent } from './mac-agent.ts';
import { ScriptedService } from './scripted-service.ts';

/** The server's timeouts: 120 seconds take 0.48. */
const TIME_SCALE = 0.004;
/** The agent waits longer than the scaled server does, so that a slow machine makes fewer outcomes unknown. */
const LIMITS = { rowAfterReplyMs: 1_000, replyMs: 20_000, recoveryMs: 2_000, certainMs: 500 };
const TIMING = { rowMs: 10, sentMs: 10, replyMs: 100 };

/**
 * Runs jobs one after the other through the agent, as a process, and a simulated BlueBubbles server, with faults of the server and
 * kills of the agent. Compares what the agent reported with what Messages did.
 */
export async function runBlueBubbles(
  cleanup: Cleanup,
  size: RunSize & { readonly seed: number },
  onProgress: (done: number) => void = () => undefined,
): Promise<RunReport> {
  const macos = await startSimulatedMacos();
  cleanup.add(() => macos.stop());
  const server = await startBlueBubbles(macos);
  cleanup.add(() => server.stop());
  await server.control.configure({ ...TIMING, timeScale: TIME_SCALE, notOnIMessage: SMS_PEOPLE });
  const files = await serveFiles(cleanup, always(Buffer.from('content'), 'text/plain'));
  const jobs = await planJobs(size, { macos, random: seeded(size.seed), filesUrl: files.url });

  const service = await new ScriptedService().start();
  cleanup.add(() => service.stop());
  const agent = new MacAgent({
    macos,
    url: service.url,
    env: {
      FOOTBRIDGE_ENGINE: 'bluebubbles',
      FOOTBRIDGE_BLUEBUBBLES_URL: server.url,
      FOOTBRIDGE_BACKOFF_CAP_SEC: '0.1',
    },
    limits: LIMITS,
  });
  cleanup.add(() => agent.stop());
  writeFileSync(join(agent.dataDir, 'bluebubbles-password'), DEFAULT_SETTINGS.password, { mode: 0o600 });
  await agent.start();

  const ended = new Map<PlannedJob, MessageStatusFrame>();
  for (const job of jobs) {
    ended.set(job, await runJob(job, { agent, service, server }));
    onProgress(ended.size);
  }
  await server.control.settled();
  await macos.messages.settled();
  return judge(ended, {
    calls: await server.control.calls(),
    performed: await server.control.performed(),
    logs: agent.logs,
    storePath: macos.storePath,
    rowMs: TIMING.rowMs + TIMING.sentMs,
  });
}

async function runJob(
  { index, fault, frame, killAfterMs }: PlannedJob,
  deps: { agent: MacAgent; service: ScriptedService; server: SimulatedBlueBubbles },
): Promise<MessageStatusFrame> {
  const { agent, service, server } = deps;
  if (fault?.doubled) await server.control.configure({ helpers: 2 });
  if (fault !== undefined) await server.control.fail({ faults: [fault.fault] });
  await until(() => service.connected > 0);
  const sent = service.send(frame);
  if (killAfterMs !== undefined) {
    await sleep(killAfterMs);
    await agent.kill9();
    await until(() => service.connected === 0);
    await agent.start();
    service.resendUnconfirmed(sent);
  }
  const status = await service.statusOf(sent.requestId).catch((error: unknown) => {
    const planned = `job ${index}, ${fault?.name ?? 'no fault'}, killed after ${killAfterMs ?? '-'} ms`;
    const found = describeRequest(sent.requestId, { service, agent });
    throw new Error(`${planned}: ${String(error)}\n${found}`, { cause: error });
  });
  await server.control.configure({ helpers: 1 });
  await server.control.heal();
  await until(
    () =>
      fetch(server.url).then(
        () => true,
        () => false,
      ),
    { what: 'the server listens again' },
  );
  return status;
}
