import { readdirSync, readFileSync } from 'node:fs';

import { costGrowth } from '@footbridge/testkit/cost-growth';
import { describe, expect, it, vi } from 'vitest';

import { decodeBody, hasBoundedTime } from './message-body.ts';
import { mutatedBodies } from './mutated-bodies.fixture.ts';
import { runBounded, runMuted } from './run-bounded.ts';
import { readSummaryInfo } from './summary-info.ts';

const bodies = new URL('../../../fixtures/bodies/', import.meta.url);
const body = (name: string): Buffer => readFileSync(new URL(`${name}.bin`, bodies));

/** Replaces a string of a body together with the byte in front of it that holds its length. */
function replaceString(blob: Buffer, from: string, to: string): Buffer {
  const stored = (text: string): Buffer =>
    Buffer.from(`${String.fromCharCode(text.length)}${text}`, 'latin1');
  const at = blob.indexOf(stored(from));
  return Buffer.concat([blob.subarray(0, at), stored(to), blob.subarray(at + from.length + 1)]);
}

/** Prints through the current console, as a library does. */
function printLikeALibrary(): void {
  const { error } = console;
  error('what it reads');
}

interface Row {
  readonly attributedBody: string;
  readonly message_summary_info: string;
}

function unsentRow(name: string): { body: Buffer; summary: Buffer } {
  const file = new URL(`../../../fixtures/rows/partial_${name}.json`, import.meta.url);
  const [row] = JSON.parse(readFileSync(file, 'utf8')) as [Row];
  const bytes = (url: string): Buffer => Buffer.from(url.slice(url.indexOf(',') + 1), 'base64');
  return { body: bytes(row.attributedBody), summary: bytes(row.message_summary_info) };
}

describe('the body of a message', () => {
  it.each([
    ['regular-text', 'Haha yeah 😃'],
    ['tweet', 'https://twitter.com/chrismessina/status/1423827232510812167'],
    ['user-mention', 'foo Kunal foo'],
    ['two-parts', 'Check this out!Check this out!'],
    ['completed-workout-2', '💥'],
    ['closed-rings-2', '💪'],
  ])('%s has its whole text', (name, text) => {
    expect(decodeBody(body(name))).toMatchObject({ text, recovered: false });
  });

  it('is read in every real example but the damaged one', () => {
    for (const name of readdirSync(bodies).filter((file) => file !== 'crashing.bin')) {
      const read = decodeBody(readFileSync(new URL(name, bodies)));
      expect(read?.text.trim(), name).not.toBe('');
      expect(read?.recovered, name).toBe(false);
    }
  });

  it('has its parts and mentions', () => {
    expect(decodeBody(body('two-parts'))?.parts).toEqual([
      { index: 0, text: 'Check this out!', attachmentGuid: undefined },
      { index: 1, text: 'Check this out!', attachmentGuid: undefined },
    ]);
    expect(decodeBody(body('user-mention'))?.mentions).toEqual([
      { handle: 'usr5@example.com', text: 'Kunal' },
    ]);
  });

  it('has the remaining attachments after a part was unsent', () => {
    const { parts } = decodeBody(unsentRow('trailing_unsends').body) ?? { parts: [] };
    expect(parts.length).toBeGreaterThan(0);
    for (const part of parts) expect(part.text === '' ? part.attachmentGuid : part.text).toBeTruthy();
  });

  it('of a voice message has its transcript', () => {
    const voice = replaceString(body('user-mention'), '__kIMMentionConfirmedMention', 'IMAudioTranscription');
    expect(decodeBody(replaceString(voice, 'usr5@example.com', 'Call me back'))).toMatchObject({
      transcript: 'Call me back',
      mentions: [],
    });
  });

  it('is recovered by the place of its text when it is damaged, and marked', () => {
    const whole = body('regular-text');
    const damaged = whole.subarray(0, whole.byteLength - 40);
    expect(decodeBody(damaged)).toMatchObject({ text: 'Haha yeah 😃', recovered: true });
    expect(decodeBody(body('crashing'))?.text.trim()).not.toBe('');
  });

  it.each([
    ['empty', Buffer.alloc(0)],
    ['a property list', Buffer.from('bplist00')],
    ['a header only', Buffer.from('\u0004\u000bstreamtyped', 'latin1')],
    ['too large', Buffer.concat([body('regular-text'), Buffer.alloc(2 * 1024 * 1024)])],
    ['cut in its text', body('regular-text').subarray(0, body('regular-text').indexOf('yeah'))],
  ])('that is %s cannot be read', (_, blob) => {
    expect(decodeBody(blob)).toBeUndefined();
  });
});

it('a body with an array of a hundred million elements of no size is not read', () => {
  const array = '[100000000!]';
  const bomb = Buffer.concat([
    body('regular-text').subarray(0, 16),
    Buffer.from([0x84, array.length]),
    Buffer.from(array),
  ]);
  expect(decodeBody(bomb)).toBeUndefined();
});

describe('the summary of a message', () => {
  it.each([
    ['leading_unsends', [0, 1], []],
    ['multiple_middle_adjacent_unsend', [1, 2], []],
    ['trailing_unsends', expect.any(Array), expect.any(Array)],
  ])('%s names the unsent parts', (name, retracted: unknown, edited: unknown) => {
    const summary = readSummaryInfo(unsentRow(name).summary);
    expect(summary).toEqual({ retracted, edited });
    expect(summary.retracted.length).toBeGreaterThan(0);
  });

  it.each<[string, (size: number) => Buffer]>([
    [
      'that refers to one long string over and over',
      (size) => {
        const items = Array<number>(size / 4).fill(0);
        return propertyList(
          plistObject(5, size / 2, Buffer.alloc(size / 2, 'a')),
          Buffer.from('\x52rp', 'latin1'),
          plistObject(10, items.length, references(items)),
          plistObject(13, 1, references([1, 2])),
        );
      },
    ],
    [
      'whose lists are nested in each other',
      () => {
        const lists = Array.from({ length: 40 }, (_, index) =>
          plistObject(10, 2, references([index, index])),
        );
        return propertyList(
          Buffer.from([0x10, 1]),
          ...lists,
          Buffer.from('\x52rp', 'latin1'),
          plistObject(13, 1, references([41, 40])),
        );
      },
    ],
    [
      'with the same key in all of its entries',
      (size) => {
        const keys = Array<number>(size / 4).fill(0);
        return propertyList(
          Buffer.from('\x52rq', 'latin1'),
          plistObject(13, keys.length, references([...keys, ...keys])),
        );
      },
    ],
    ['that contains itself', () => propertyList(plistObject(13, 1, references([0, 0])))],
  ])('T58 %s is read in linear time and memory', (_, make) => {
    const size = 64 * 1024;
    const cost = costGrowth(readSummaryInfo, make, size);
    expect(cost.time).toBeLessThan(24);
    expect(cost.bytes).toBeLessThan(128 * size);
  });

  it('is empty when it cannot be read', () => {
    for (const blob of [Buffer.alloc(0), Buffer.from('bplist00'), body('regular-text')]) {
      expect(readSummaryInfo(blob)).toEqual({ retracted: [], edited: [] });
    }
  });
});

describe('a decoder', () => {
  it('is ended when it does not return', () => {
    const started = performance.now();
    const print = vi.spyOn(console, 'error').mockImplementation(() => {});
    const endless = (): never => {
      for (;;);
    };
    expect(runBounded(endless)).toBeUndefined();
    expect(performance.now() - started).toBeGreaterThan(150);
    expect(runBounded(() => 'still works')).toBe('still works');
    printLikeALibrary();
    expect(print).toHaveBeenCalledOnce();
    print.mockRestore();
  });

  it.each<[string, boolean, Buffer]>([
    ['a text', false, body('regular-text')],
    ['a text and bytes', false, Buffer.concat([body('regular-text'), Buffer.from('[12c]')])],
    ['a large body', true, Buffer.concat([body('regular-text'), Buffer.alloc(1024)])],
    ['an array', true, Buffer.concat([body('regular-text'), Buffer.from('[99999999!]')])],
    ['an array of arrays', true, Buffer.concat([body('regular-text'), Buffer.from('[99999999[0c]]')])],
    ['a struct', true, Buffer.concat([body('regular-text'), Buffer.from('{=}')])],
    ['an array with the highest bit set', true, Buffer.concat([body('regular-text'), Buffer.from([0xdb])])],
    ['a struct with the highest bit set', true, Buffer.concat([body('regular-text'), Buffer.from([0xfb])])],
  ])('for %s needs a time limit: %s', (_, needsLimit, blob) => {
    expect(hasBoundedTime(blob)).toBe(!needsLimit);
  });

  it('is not ended when a busy machine stalls it', () => {
    const stalls = new Int32Array(new SharedArrayBuffer(4));
    let calls = 0;
    const stalled = (): string => {
      calls += 1;
      // Waits without using the CPU, longer than the first attempt may take.
      Atomics.wait(stalls, 0, 0, 300);
      return 'read';
    };
    expect(runBounded(stalled)).toBe('read');
    expect(calls).toBeGreaterThan(1);
  });

  it('prints nothing, and the console works again afterwards', () => {
    const print = vi.spyOn(console, 'error').mockImplementation(() => {});
    runBounded(printLikeALibrary);
    runMuted(printLikeALibrary);
    expect(print).not.toHaveBeenCalled();
    printLikeALibrary();
    expect(print).toHaveBeenCalledOnce();
    print.mockRestore();
  });

  it('survives mutated bodies', () => {
    const mutated = mutatedBodies(20_261_115);
    for (let round = 0; round < 1_500; round += 1) {
      const blob = mutated.next().value;
      const read = decodeBody(blob);
      if (read !== undefined) expect(typeof read.text).toBe('string');
      readSummaryInfo(blob);
    }
  });
});

/** Returns a binary property list of these objects, with references of two bytes. The last object is the root. */
function propertyList(...objects: Buffer[]): Buffer {
  const header = Buffer.from('bplist00');
  const offsets = Buffer.alloc(objects.length * 4);
  let at = header.length;
  for (const [index, object] of objects.entries()) {
    offsets.writeUInt32BE(at, index * 4);
    at += object.length;
  }
  const trailer = Buffer.alloc(32);
  trailer.writeUInt8(4, 6);
  trailer.writeUInt8(2, 7);
  trailer.writeUInt32BE(objects.length, 12);
  trailer.writeUInt32BE(objects.length - 1, 20);
  trailer.writeUInt32BE(at, 28);
  return Buffer.concat([header, ...objects, offsets, trailer]);
}

/** An object with its length in four bytes. */
function plistObject(kind: number, length: number, content: Buffer): Buffer {
  const head = Buffer.from([(kind << 4) | 15, 0x12, 0, 0, 0, 0]);
  head.writeUInt32BE(length, 2);
  return Buffer.concat([head, content]);
}

function references(objects: readonly number[]): Buffer {
  const bytes = Buffer.alloc(objects.length * 2);
  for (const [index, object] of objects.entries()) bytes.writeUInt16BE(object, index * 2);
  return bytes;
}
