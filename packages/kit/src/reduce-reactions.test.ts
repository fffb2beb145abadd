import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { makeFooter } from './footer.ts';
import {
  reactionsFor,
  reduceReactions,
  type ConversationMessage,
  type ReactionState,
} from './reduce-reactions.ts';

const contents = [
  { kind: 'classic', type: 'love' },
  { kind: 'classic', type: 'like' },
  { kind: 'emoji', emoji: '🎉' },
  { kind: 'emoji' },
  { kind: 'sticker', sticker: { guid: 's1' } },
  { kind: 'memoji' },
];
const event = fc.record({
  sender: fc.constantFrom('a', 'b', '__proto__'),
  action: fc.constantFrom('add', 'remove'),
  content: fc.constantFrom(...contents),
});

/** One message per event, in order of time. */
const messages = fc.array(event, { maxLength: 12 }).map((events) =>
  events.map(({ sender, action, content }, at): ConversationMessage => {
    const reaction = {
      ...content,
      action: action === 'add' ? ('add' as const) : ('remove' as const),
      target_message_guid: 'g',
    };
    return { message: makeFooter({ sender, message_guid: `r${at}`, reaction }, { text: 'Loved it' }), at };
  }),
);

const reduce = (list: readonly ConversationMessage[], start: ReactionState = {}) =>
  list.reduce(reduceReactions, start);
const shown = (state: ReactionState) =>
  reactionsFor(state, 'g').toSorted((a, b) => a.sender.localeCompare(b.sender));

describe('reduceReactions', () => {
  it('F9 gives the same result in any order of arrival and with duplicates if every message has a time', () => {
    const shuffled = messages.chain((list) =>
      fc.tuple(fc.constant(list), fc.shuffledSubarray([...list, ...list], { minLength: list.length * 2 })),
    );
    fc.assert(
      fc.property(shuffled, ([list, arrived]) => {
        expect(shown(reduce(arrived))).toEqual(shown(reduce(list)));
      }),
      { numRuns: 300 },
    );
  });

  it('F9 keeps at most one reaction per sender and message', () => {
    fc.assert(
      fc.property(messages, (list) => {
        const senders = reactionsFor(reduce(list), 'g').map(({ sender }) => sender);
        expect(new Set(senders).size).toBe(senders.length);
      }),
    );
  });

  it('F9 bounds the size of the state after many changes and keeps the result correct', () => {
    const love = { kind: 'classic', type: 'love', action: 'add', target_message_guid: 'g' } as const;
    const withdrawn = { ...love, type: 'like', action: 'remove' } as const;
    const list = Array.from({ length: 500 }, (_, at): ConversationMessage => ({
      message: makeFooter({ sender: 'a', message_guid: `r${at}`, reaction: at === 0 ? love : withdrawn }),
    }));
    const state = reduce(list);
    expect(JSON.stringify(state).length).toBeLessThan(5000);
    expect(shown(state)).toEqual([{ sender: 'a', kind: 'classic', type: 'love' }]);
  });

  it('F9 returns the same object for a message without a reaction and for a duplicate', () => {
    const reaction = { kind: 'emoji', emoji: '🎉', action: 'add', target_message_guid: 'g' } as const;
    const message = makeFooter({ sender: 'a', message_guid: 'r1', reaction });
    const state = reduce([{ message }]);
    for (const other of ['Hi', '', makeFooter({ chat_id: 7 }), '-- svc-metadata:v1 --', message]) {
      expect(reduceReactions(state, { message: other })).toBe(state);
    }
  });

  it('F4 ignores an invalid reaction', () => {
    for (const json of [
      '[]',
      '{"kind":"classic"}',
      '{"kind":7,"action":"add","target_message_guid":"g"}',
      '"x"',
    ]) {
      const message = `Hi\n-- svc-metadata:v1 --\n{"reaction":${json}}\n-- end svc-metadata --`;
      expect(reduceReactions({}, { message })).toEqual({});
    }
  });
});
