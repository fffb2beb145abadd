import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import { systemClock } from '../../clock.ts';
import { SimulatedMessages } from './messages-simulated.ts';
import { messagesContract } from './messages.contract.ts';

const folder = mkdtempSync(join(tmpdir(), 'footbridge-'));
afterAll(() => rmSync(folder, { recursive: true }));

let made = 0;
function open(macos: string, dir = join(folder, String((made += 1)))): SimulatedMessages {
  return new SimulatedMessages({ dir, macos, ownHandle: '+15550100000', clock: systemClock });
}

describe.each(['12.7', '14.8', '15.6', '26.1'])('the simulated Messages of macOS %s', (macos) => {
  messagesContract(() => open(macos));
});

describe('the simulated world', () => {
  const ANNA = '+15550100001';

  it('is the same one after a restart', () => {
    const dir = join(folder, 'kept');
    const first = open('26.1', dir);
    const { guid, chatId } = first.people.say(ANNA, { text: 'Hello' });
    first.people.change('+15550100009', { imessage: false });
    const before = first.view();
    const identity = first.store.identity();
    first.close();
    const second = open('26.1', dir);
    expect(second.view()).toEqual(before);
    expect(second.store.identity()).toBe(identity);
    expect(second.store.rowOf(guid)?.chatId).toBe(chatId);
    second.close();
  });

  it('keeps only the newest state of a reaction, and the guids of what went', () => {
    const world = open('26.1');
    const { guid: targetGuid } = world.people.say(ANNA, { text: 'Hello' });
    const love = world.people.react(ANNA, { targetGuid, kind: 'classic', type: 'love', action: 'add' });
    const like = world.people.react(ANNA, { targetGuid, kind: 'classic', type: 'like', action: 'add' });
    expect(world.store.rowOf(love.guid)).toBeUndefined();
    expect(world.store.rowOf(like.guid)?.tapback?.type).toBe(2001);
    world.close();
  });

  it('does not do what cannot be', () => {
    const world = open('26.1');
    const { guid: targetGuid, chatId } = world.people.say(ANNA, { text: 'Hello' });
    const love = { targetGuid, kind: 'classic', type: 'love' } as const;
    expect(() => world.people.react(ANNA, { ...love, action: 'remove' })).toThrow('no such reaction');
    expect(() => world.people.react('+15550100002', { ...love, action: 'add' })).toThrow('not in chat');
    expect(() => world.people.react(ANNA, { ...love, targetGuid: 'X', action: 'add' })).toThrow('no message');
    expect(() => world.people.say(ANNA, {})).toThrow('nothing to say');
    expect(() => world.people.say(ANNA, { text: 'x', effect: 'magic' })).toThrow('no such effect');
    expect(() => world.people.say(ANNA, { text: 'x', replyTo: 'X' })).toThrow('no message');
    expect(() => world.people.say(ANNA, { text: 'x', chatId: 99 })).toThrow('no chat 99');
    expect(() => world.people.group([ANNA])).toThrow('at least two');
    expect(() => world.people.leave(ANNA, chatId)).toThrow('only groups');
    expect(() => world.people.edit('+15550100002', targetGuid, 'x')).toThrow('wrote no such');
    world.close();
  });

  it('a fault lasts as often as it was told to', async () => {
    const world = open('26.1');
    world.change({ faults: [{ job: 'text', code: 'TIMEOUT', times: 2 }] });
    const destination = { to: 'person', handle: ANNA, service: 'iMessage' } as const;
    const results: string[] = [];
    for (let index = 0; index < 3; index += 1) {
      results.push((await world.send({ kind: 'text', text: 'Hi' }, destination)).result);
    }
    expect(results).toEqual(['failed', 'failed', 'sent']);
    world.close();
  });

  it('one person has a chat for each service, also where the guid no longer tells it', () => {
    const prefixes = ['15.6', '26.1'].map((macos) => {
      const world = open(macos);
      world.people.say(ANNA, { text: 'x' });
      world.people.say(ANNA, { text: 'x', service: 'SMS' });
      world.people.say(ANNA, { text: 'x', service: 'RCS' });
      const { chats } = world.view();
      world.close();
      return chats.map((chat) => chat.service);
    });
    expect(prefixes).toEqual([
      ['iMessage', 'SMS', 'RCS'],
      ['iMessage', 'SMS', 'RCS'],
    ]);
  });
});
