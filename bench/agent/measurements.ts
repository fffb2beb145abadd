import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';

import { journalPath } from '@footbridge/agent/edges/data-dir';
import { openJournal } from '@footbridge/agent/journal/journal-sqlite';
import { MIN_MACOS } from '@footbridge/agent/ports/messages/feature-versions';
import { MacMessages } from '@footbridge/agent/ports/messages/macos/mac-messages';
import type { TapbackPress } from '@footbridge/agent/ports/messages/messages';
import { systemClock } from '@footbridge/runtime/clock';
import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import type { Cleanup } from '@footbridge/testkit/cleanup';
import { startSimulatedMacos } from '@footbridge/testkit/macos';
import { MACOS_VERSIONS } from '@footbridge/simulator/chat-db';
import type { MacosVersion } from '@footbridge/simulator/chat-db';
import { until } from '@footbridge/testkit/until';

import { MacAgent } from '../../tests/agent/mac-agent.ts';
import { readChatDb } from '@footbridge/agent/ports/messages/real-chat-db.fixture';
import { ScriptedService } from '../../tests/agent/scripted-service.ts';
import { cpuMicros, residentBytes } from '../measure/process-costs.ts';
import { CHATS, fillStore, guid, members, person } from './filled-store.ts';
import { times } from './outcome.ts';
import type { Outcome } from './outcome.ts';

type Tapback = TapbackPress['tapback'];

async function withCleanup(task: (cleanup: Cleanup) => Promise<Outcome>): Promise<Outcome> {
  const cleanup = createCleanup();
  try {
    return await task(cleanup);
  } finally {
    await cleanup.run();
  }
}

/** Returns an agent that is not started, its simulated macOS and the service that it connects to. */
async function newAgent(cleanup: Cleanup) {
  const service = await new ScriptedService().start();
  cleanup.add(() => service.stop());
  const macos = await startSimulatedMacos();
  cleanup.add(() => macos.stop());
  const agent = new MacAgent({ url: service.url, macos, env: {} });
  cleanup.add(() => agent.stop());
  return { service, macos, agent };
}

/** The CPU time and the memory of an idle agent, with the message store of a busy Mac. */
export const idle = ({ seconds }: { readonly seconds: number }): Promise<Outcome> =>
  withCleanup(async (cleanup) => {
    const { macos, agent } = await newAgent(cleanup);
    fillStore(macos.storePath);
    await agent.start();
    // The agent is not idle while it starts and reads the store for the first time.
    await sleep(10_000);
    const before = cpuMicros(agent.pid);
    await sleep(seconds * 1000);
    const percentOfACore = (cpuMicros(agent.pid) - before) / seconds / 1e4;
    const megabytes = residentBytes(agent.pid) / 1024 / 1024;
    return { found: { percentOfACore, megabytes }, isMet: percentOfACore <= 0.5 && megabytes <= 90 };
  });

/** How long an agent that was offline takes to send its outbox, from the connection to the last acknowledgement. */
export const outbox = ({ frames }: { readonly frames: number }): Promise<Outcome> =>
  withCleanup(async (cleanup) => {
    const { service, agent } = await newAgent(cleanup);
    const journal = openJournal(journalPath(agent.dataDir));
    cleanup.add(() => journal.close());
    journal.transaction(() => {
      for (let index = 0; index < frames; index += 1) {
        const sender = person(index % 500);
        const frame = {
          type: 'message_received',
          guid: guid(index),
          sender,
          service: 'iMessage',
          text: `a text of ordinary length, as a customer would send it, number ${index}`,
          sentAt: new Date().toISOString(),
          chat: { id: index % 500, isGroup: false, recipients: [sender] },
          attachments: [],
        } as const;
        journal.outbox.put(frame, Date.now());
      }
    });
    await agent.start();
    await until(() => journal.outbox.counts().unacknowledged === 0, { every: 20, what: 'an empty outbox' });
    const connectedAt = service.history.find(({ what }) => what === 'connected')?.at ?? Number.NaN;
    const seconds = (Date.now() - connectedAt) / 1000;
    const sent = new Set(service.received.map((frame) => frame.guid)).size;
    const found = { seconds, sent, sentTwice: service.received.length - sent };
    return { found, isMet: sent === frames && seconds <= 5 };
  });

/** Reads of the message store of a busy Mac: times by the wall clock, and CPU time, which does not depend on the load of the machine. */
export const store = ({ repeats }: { readonly repeats: number }): Promise<Outcome> =>
  withCleanup(async (cleanup) => {
    const path = join(await tempDir(cleanup), 'chat.db');
    fillStore(path);
    const db = new DatabaseSync(path, { readOnly: true });
    cleanup.add(() => db.close());
    const chats = readChatDb(db);
    const newest = chats.newestRowid();
    const reads: Record<string, (round: number) => unknown> = {
      'rowsAfter, nothing new': () => chats.rowsAfter(newest, 100),
      'rowsAfter, one row': () => chats.rowsAfter(newest - 1, 100),
      ownReaction: (round) => chats.ownReaction(guid(round * 7)),
      groupOf: (round) => chats.groupOf(members((round % (CHATS / 4)) * 4), 'iMessage'),
      'groupOf, unknown': () => chats.groupOf([person(1), person(99_999)], 'iMessage'),
      directChat: (round) => chats.directChat(person(round % CHATS), 'iMessage'),
      rowByGuid: (round) => chats.rowByGuid(guid(round * 3)),
      chat: (round) => chats.chat(2 ** 32 + 1 + (round % CHATS)),
    };
    const measured = Object.entries(reads).map(([name, read]) => {
      for (let round = 0; round < repeats / 4; round += 1) read(round);
      const cpu = process.cpuUsage();
      const at = times(Array.from({ length: repeats }, (_, round) => timeOf(() => read(round))));
      const { user, system } = process.cpuUsage(cpu);
      return [name, { median: at(0.5), p95: at(0.95), cpu: (user + system) / 1000 / repeats }];
    });
    // A measurement of lookups that find nothing would be worthless.
    const isFilled =
      typeof chats.groupOf(members(0), 'iMessage') === 'object' &&
      chats.directChat(person(1), 'iMessage') !== undefined &&
      chats.ownReaction(guid(7)) !== undefined;
    return { found: Object.fromEntries(measured), isMet: isFilled };
  });

function timeOf(task: () => unknown): number {
  const started = performance.now();
  task();
  return performance.now() - started;
}

const ANNA = '+15550100001';
const LOVE: Tapback = { kind: 'classic', type: 'love' };
/** Not among the recent ones, and far down in the list of all emoji. */
const FAR_EMOJI: Tapback = { kind: 'emoji', emoji: '🌈' };

/** Tapbacks from the call of the engine to the row, with `osascript` as a process, on each version. */
export async function tapbacks({ count }: { readonly count: number }): Promise<Outcome> {
  const found: Record<string, { median: number; p95: number }> = {};
  for (const version of MACOS_VERSIONS)
    for (const tapback of version >= MIN_MACOS.emojiReactions ? [LOVE, FAR_EMOJI] : [LOVE]) {
      const at = times(await tapbackTimes(version, tapback, count));
      found[`macOS ${version}, ${tapback.kind}`] = { median: at(0.5), p95: at(0.95) };
    }
  return { found, isMet: Object.values(found).every(({ p95 }) => p95 <= 2_000) };
}

async function tapbackTimes(version: MacosVersion, tapback: Tapback, count: number): Promise<number[]> {
  const macos = await startSimulatedMacos({ macos: version });
  const messages = await MacMessages.open({
    home: macos.home,
    programs: macos.commands,
    memory: { load: () => undefined, save: () => undefined },
    clock: systemClock,
    uiAutomation: true,
  });
  try {
    const all: number[] = [];
    for (let round = 0; round < count; round += 1) {
      const { guid: target } = await macos.messages.write({ from: ANNA, text: `Message ${round}` });
      await macos.messages.settled();
      const chatId = messages.store.directChat(ANNA, 'iMessage')?.id ?? 0;
      const started = performance.now();
      const result = await messages.react({ chatId, targetGuid: target, tapback });
      all.push(performance.now() - started);
      if (messages.store.ownReaction(target)?.kind !== tapback.kind)
        throw new Error(`no reaction: ${JSON.stringify(result)}`);
    }
    return all;
  } finally {
    messages.close();
    await macos.stop();
  }
}
