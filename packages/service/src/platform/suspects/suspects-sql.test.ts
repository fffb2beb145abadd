import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { FakeClock } from '@footbridge/testkit/fake-clock';
import { silentLog } from '@footbridge/testkit/silent-log';
import { WorkMark } from '@footbridge/runtime/work-mark';
import { afterEach, beforeEach, expect, it } from 'vitest';

import { EngineError } from '../errors.ts';
import { onBothDatabases } from '../sql/on-both-databases.fixture.ts';
import type { OpenDatabase } from '../sql/open-database.ts';
import { openSuspects } from './suspects-sql.ts';
import { SET_ASIDE } from './suspects.ts';
import type { MessageName } from './suspects.ts';

const POISON = { kind: 'inbound', locationId: 'loc 1', id: 'guid 1' } as const;
const OTHER = { ...POISON, id: 'guid 2' } as const;
const OTHERS_FIRST_MS = 10_000;

onBothDatabases('suspects', (open) => {
  let database: OpenDatabase;
  let clock: FakeClock;
  let dir: string;
  let counted: string[];

  beforeEach(async () => {
    database = await open();
    clock = new FakeClock();
    dir = mkdtempSync(join(tmpdir(), 'suspects-'));
    counted = [];
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  const listeners = new Set<() => void>();

  /** A process of a node, after the one before. */
  async function start(node = 'node-1') {
    const mark = new WorkMark(join(dir, node));
    const count = (kind: string) => void counted.push(kind);
    const suspects = await openSuspects({
      db: database.db,
      mark,
      announce: async () => listeners.forEach((listener) => listener()),
      onAnnounced(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      clock,
      log: silentLog,
      count,
    });
    return { mark, suspects };
  }

  type Process = Awaited<ReturnType<typeof start>>;

  /** Starts the work for a message. Returns its outcome so far. */
  async function handle({ suspects }: Process, message: MessageName = POISON, work = async () => 'handled') {
    let outcome: unknown;
    void suspects
      .handle(message, work, (reached) => reached !== 'no Mac')
      .then((handled) => (outcome = handled));
    await settled();
    return () => outcome;
  }

  /** A process that dies during the work for the message. */
  async function dieOf(message: MessageName, node?: string) {
    const process = await start(node);
    await handle(process, message, () => {
      process.mark.freeze();
      return new Promise(() => {});
    });
    await advance(OTHERS_FIRST_MS);
    return process;
  }

  const settled = () => new Promise((resolve) => setTimeout(resolve, 30));
  async function advance(ms: number) {
    await clock.advance(ms);
    await settled();
  }

  it('I10 the message that ended the process twice is set aside, and no other', async () => {
    await dieOf(POISON);
    expect(await (await dieOf(POISON)).suspects.list()).toEqual([]);
    const process = await start();
    expect(await process.suspects.list()).toEqual([{ ...POISON, at: clock.now() }]);
    await expect.poll(await handle(process, OTHER)).toBe('handled');
    await expect.poll(await handle(process, { ...POISON, kind: 'file' })).toBe('handled');
    await expect.poll(await handle(process)).toBe(SET_ASIDE);
    expect(counted).toEqual(['inbound']);
  });

  it('I10 an outcome before the end of the work leaves the message a suspect', async () => {
    await dieOf(POISON);
    const between = await start();
    const outcome = await handle(between, POISON, async () => 'no Mac');
    await advance(OTHERS_FIRST_MS);
    await expect.poll(outcome).toBe('no Mac');
    await dieOf(POISON);
    await expect.poll(await handle(await start())).toBe(SET_ASIDE);
  });

  it('I10 the others go first after a death, and then suspects are handled one at a time', async () => {
    await dieOf(POISON);
    await dieOf(OTHER);
    const process = await start();
    const waits = Promise.withResolvers<string>();
    const first = await handle(process, POISON, () => waits.promise);
    const second = await handle(process, OTHER);
    await expect.poll(await handle(process, { ...POISON, id: 'innocent' })).toBe('handled');
    await advance(OTHERS_FIRST_MS - 1);
    expect([first(), second()]).toEqual([undefined, undefined]);
    await advance(1);
    expect(second()).toBeUndefined();
    waits.resolve('done');
    await expect.poll(() => [first(), second()]).toEqual(['done', 'handled']);
  });

  it('I10 a suspect that waits for something does not hold up another one', async () => {
    await dieOf(POISON);
    await dieOf(OTHER);
    const process = await start();
    await handle(process, POISON, () => new Promise(() => {}));
    const second = await handle(process, OTHER);
    await advance(OTHERS_FIRST_MS);
    await advance(5000);
    await expect.poll(second).toBe('handled');
  });

  it('I10 nothing is held against a suspect that was handled', async () => {
    await dieOf(POISON);
    const process = await start();
    const handled = await handle(process);
    await advance(OTHERS_FIRST_MS);
    await expect.poll(handled).toBe('handled');
    await dieOf(POISON);
    const again = await handle(await start());
    await advance(OTHERS_FIRST_MS);
    await expect.poll(again).toBe('handled');
  });

  it('I10 a message that waited when the process died is not a suspect', async () => {
    const process = await start();
    await handle(process, POISON, () => new Promise(() => {}));
    process.mark.freeze();
    await expect.poll(await handle(await start())).toBe('handled');
  });

  it('I10 a message that was in work again after a wait is a suspect', async () => {
    const process = await start();
    await handle(process, POISON, async () => {
      await settled();
      process.suspects.workOn(POISON);
      process.mark.freeze();
      return new Promise(() => {});
    });
    await settled();
    await dieOf(POISON);
    await expect.poll(await handle(await start())).toBe(SET_ASIDE);
  });

  it('I10 the deaths of all nodes count', async () => {
    const third = await start('node-3');
    await dieOf(POISON, 'node-1');
    await start('node-1');
    await dieOf(POISON, 'node-2');
    await start('node-2');
    await expect.poll(await handle(third)).toBe(SET_ASIDE);
    await expect.poll(await handle(third, OTHER)).toBe('handled');
  });

  it('I10 a message is handled again after its release', async () => {
    await dieOf(POISON);
    await dieOf(POISON);
    const process = await start();
    expect(await process.suspects.release(OTHER)).toBe(false);
    expect(await process.suspects.release(POISON)).toBe(true);
    expect(await process.suspects.list()).toEqual([]);
    await expect.poll(await handle(process)).toBe('handled');
  });

  it('I10 a message that ended an agent is set aside', async () => {
    const [process, other] = [await start('node-1'), await start('node-2')];
    await process.suspects.setAside(POISON);
    await settled();
    await expect.poll(await handle(other)).toBe(SET_ASIDE);
    expect((await other.suspects.list()).map(({ id }) => id)).toEqual([POISON.id]);
  });

  it('I10 of the messages of a location that Macs set aside the newest 500 are kept', async () => {
    const { suspects } = await start();
    await suspects.setAside({ ...POISON, locationId: 'other' });
    for (let number = 0; number < 510; number++) {
      await clock.advance(1);
      await suspects.setAside({ ...POISON, id: `made up ${number}` });
    }
    const kept = await suspects.list();
    expect(kept).toHaveLength(501);
    expect(kept[0]?.id).toBe('made up 509');
    expect(kept.at(-1)?.locationId).toBe('other');
  });

  it('I10 suspects are handled at once when the process stops', async () => {
    await dieOf(POISON);
    const process = await start();
    const handled = await handle(process);
    process.suspects.close();
    await settled();
    await expect.poll(handled).toBe('handled');
  });

  it('I10 the death is left to the next start while the database is unavailable', async () => {
    await dieOf(POISON);
    await database.db.schema.alterTable('suspects').renameTo('gone').execute();
    await expect(start()).rejects.toThrow(EngineError);
    await database.db.schema.alterTable('gone').renameTo('suspects').execute();
    await dieOf(POISON);
    await expect.poll(await handle(await start())).toBe(SET_ASIDE);
  });

  it('I10 a node goes by what it knows while the database is unavailable', async () => {
    await dieOf(POISON);
    await dieOf(POISON);
    const process = await start();
    await database.db.schema.alterTable('suspects').renameTo('gone').execute();
    await expect.poll(await handle(process)).toBe(SET_ASIDE);
    await expect(process.suspects.list()).rejects.toThrow(EngineError);
    await database.db.schema.alterTable('gone').renameTo('suspects').execute();
  });

  it('I10 messages that ended no process for a long time are forgotten', async () => {
    await dieOf(POISON);
    const process = await start();
    await process.suspects.prune(clock.now() + 1);
    await expect.poll(await handle(process)).toBe('handled');
  });
});
