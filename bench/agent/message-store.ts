import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import type { ChatDb } from '@footbridge/agent/ports/messages/chat-db';
import { openChatDb } from '@footbridge/simulator/chat-db';

import { readChatDb } from '@footbridge/agent/ports/messages/real-chat-db.fixture';
import { CHATS, fillStore, guid, members, person } from './fill-store.ts';

/** Measures the reader on a store of the size that a busy Mac has after some years. */
const REPEATS = 2_000;
const WARM_UP = 500;

const folder = mkdtempSync(join(tmpdir(), 'footbridge-'));
try {
  const path = join(folder, 'chat.db');
  const filled = openChatDb(path, 26);
  fillStore(filled);
  filled.close();
  const db = new DatabaseSync(path, { readOnly: true });
  const store = readChatDb(db);
  const newest = store.newestRowid();
  measure('rowsAfter, nothing new', () => store.rowsAfter(newest, 100));
  measure('rowsAfter, one row', () => store.rowsAfter(newest - 1, 100));
  measure('ownReaction', (round) => store.ownReaction(guid(round * 7)));
  measure('groupOf', (round) => store.groupOf(members((round % (CHATS / 4)) * 4), 'iMessage'));
  measure('groupOf, unknown', () => store.groupOf([person(1), person(99_999)], 'iMessage'));
  measure('directChat', (round) => store.directChat(person(round % CHATS), 'iMessage'));
  measure('rowByGuid', (round) => store.rowByGuid(guid(round * 3)));
  measure('chat', (round) => store.chat(2 ** 32 + 1 + (round % CHATS)));
  check(store);
  db.close();
} finally {
  rmSync(folder, { recursive: true });
}

/** Prints the times by the wall clock, and the mean CPU time, which does not depend on the load of the machine. */
function measure(name: string, read: (round: number) => unknown): void {
  for (let round = 0; round < WARM_UP; round += 1) read(round);
  const cpuBefore = process.cpuUsage();
  const times = Array.from({ length: REPEATS }, (_, round) => {
    const started = performance.now();
    read(round);
    return performance.now() - started;
  }).sort((one, other) => one - other);
  const { user, system } = process.cpuUsage(cpuBefore);
  const cpu = ((user + system) / 1000 / REPEATS).toFixed(3);
  const at = (share: number): string => (times[Math.floor(REPEATS * share)] ?? 0).toFixed(3);
  process.stdout.write(`${name.padEnd(24)} median ${at(0.5)} ms, p95 ${at(0.95)} ms, CPU ${cpu} ms\n`);
}

/** A measurement of lookups that find nothing would be worthless. */
function check(store: ChatDb): void {
  const group = store.groupOf(members(0), 'iMessage');
  const found = typeof group === 'object' && store.directChat(person(1), 'iMessage') !== undefined;
  if (!found || store.ownReaction(guid(7)) === undefined)
    throw new Error('the store is not filled as expected');
}
