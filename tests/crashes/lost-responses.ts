// Messages of several chats while the CRM loses responses and the service is killed: node scripts/run.mjs tests/crashes/lost-responses.ts --messages 2000 --kills 200 [--seed 1] [--lost 30]
import { parseArgs } from 'node:util';

import { createCleanup } from '@footbridge/testkit/cleanup';
import type { Crm, Fault } from '@footbridge/testkit/crm';
import { until } from '@footbridge/testkit/until';

import { seeded } from '@footbridge/testkit/seeded';
import { startWithService } from './crash-setup.ts';

export interface LostResponsesOptions {
  readonly messages: number;
  readonly kills: number;
  readonly seed: number;
  /** The percentage of calls that lose their response or do not arrive. Default 30. */
  readonly lostPercent?: number;
}

export interface LostResponsesScore {
  readonly messages: number;
  readonly kills: number;
  /** Calls that lost their response or did not arrive. */
  readonly lostCalls: number;
  /** Searches for a conversation. */
  readonly lookUps: number;
  readonly lost: number;
  readonly doubled: number;
  readonly orderBreaks: number;
  readonly uncertain: number;
  readonly doubledContacts: number;
}

interface Written {
  readonly chat: number;
  readonly sender: string;
  readonly text: string;
}

const CHATS = 40;
/** Two chats share a contact, and with it a conversation in the CRM. */
const CHATS_PER_CONTACT = 2;
/** Less than CRM_SETTLE_SEC and CRM_READ_LAG_SEC together. */
const READ_LAG_MS = 1500;
const WITHIN_MS = 600_000;
/** With `dropAnswer` and `stored` the CRM has carried out the request. */
const FAULTS: readonly Fault[] = [
  'dropAnswer',
  'dropAnswer',
  'reset',
  { status: 504, stored: true },
  { status: 500, stored: true },
  { status: 503 },
];

/** The CRM ignores idempotency keys, as HighLevel does. Half of the texts are the same in several chats. */
export async function loseResponses(options: LostResponsesOptions): Promise<LostResponsesScore> {
  const { messages, kills, seed, lostPercent = 30 } = options;
  const random = seeded(seed);
  const cleanup = createCleanup();
  try {
    const { crm, mac, service } = await startWithService(cleanup, { readLagMs: READ_LAG_MS }, '');
    await until(() => mac.isConnected);
    // Faults for twice as many calls as there are messages, in case all calls of the first half are lost.
    for (const match of ['inbound', 'upsert'])
      for (let after = 0; after < messages * 2; after++)
        if (random() * 100 < lostPercent)
          crm.injectFault({ match, after, how: FAULTS[Math.floor(random() * FAULTS.length)] ?? 'reset' });
    const written = writeAll(messages, random);
    for (const [index, { chat, sender, text }] of written.entries())
      mac.keep({
        sender,
        text,
        guid: `guid-${index}`,
        chat: { id: chat, isGroup: false, recipients: [sender] },
      });

    let killed = 0;
    for (; killed < kills && mac.unacknowledged > 0; killed++) {
      // One kill in each of as many equal parts of the run.
      const left = messages * (1 - (killed + random()) / kills);
      await until(() => mac.unacknowledged <= left, { within: WITHIN_MS, every: 1 });
      await service.kill9();
      await service.start();
      await until(() => mac.isConnected);
    }
    await until(() => mac.unacknowledged === 0, { within: WITHIN_MS, what: 'every message acknowledged' });
    return {
      messages,
      kills: killed,
      lostCalls: crm.calls.filter(({ fault }) => fault !== undefined).length,
      lookUps: crm.callsTo('conversations').length,
      ...compare(written, crm),
      uncertain: service.logs.filter(({ event }) => event === 'inbound.uncertain').length,
    };
  } finally {
    await cleanup.run();
  }
}

function writeAll(messages: number, random: () => number): Written[] {
  return Array.from({ length: messages }, (_, index) => {
    const chat = index % CHATS;
    const sender = `+1415555${String(2000 + Math.floor(chat / CHATS_PER_CONTACT))}`;
    return { chat, sender, text: random() < 0.5 ? 'ok' : `chat ${chat} message ${index}` };
  });
}

function compare(written: readonly Written[], crm: Crm) {
  const phones = new Map(crm.contacts.map(({ id, phone }) => [id, phone ?? '']));
  const expected = count(written.map(({ sender, text }) => `${sender} ${text}`));
  const stored = count(
    crm.messages.map(({ contactId, message }) => `${phones.get(contactId) ?? ''} ${message}`),
  );
  const sumOver = (difference: (key: string) => number) =>
    [...new Set([...expected.keys(), ...stored.keys()])].reduce(
      (sum, key) => sum + Math.max(0, difference(key)),
      0,
    );
  const missing = (key: string) => (expected.get(key) ?? 0) - (stored.get(key) ?? 0);
  const contacts = count(crm.contacts.map(({ phone }) => phone ?? ''));
  return {
    lost: sumOver(missing),
    doubled: sumOver((key) => -missing(key)),
    orderBreaks: orderBreaks(crm.messages.map(({ message }) => message)),
    doubledContacts: [...contacts.values()].filter((times) => times > 1).length,
  };
}

/** Of the texts that name their chat and number. */
function orderBreaks(texts: readonly string[]): number {
  const latest = new Map<string, number>();
  let breaks = 0;
  for (const text of texts) {
    const [, chat = '', number = ''] = /^chat (\d+) message (\d+)$/.exec(text) ?? [];
    if (number === '') continue;
    if (Number(number) < (latest.get(chat) ?? -1)) breaks++;
    latest.set(chat, Number(number));
  }
  return breaks;
}

function count(keys: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      messages: { type: 'string', default: '2000' },
      kills: { type: 'string', default: '200' },
      seed: { type: 'string', default: '1' },
      lost: { type: 'string', default: '30' },
    },
  });
  const began = performance.now();
  const score = await loseResponses({
    messages: Number(values.messages),
    kills: Number(values.kills),
    seed: Number(values.seed),
    lostPercent: Number(values.lost),
  });
  const seconds = Math.round((performance.now() - began) / 1000);
  const figures = Object.entries({ ...score, seconds }).map(([name, value]) => `${name}=${value}`);
  process.stdout.write(`${figures.join(' ')}\n`);
  const { lost, doubled, orderBreaks: breaks, uncertain, doubledContacts } = score;
  if (lost + doubled + breaks + uncertain + doubledContacts > 0) process.exitCode = 1;
}
