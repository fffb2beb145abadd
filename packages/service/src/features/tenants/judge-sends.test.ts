import { expect, test } from 'vitest';

import type { RecentSend } from '../../relay/journal/journal.ts';
import { failing, unanswered } from './judge-sends.ts';

const NOW = Date.UTC(2026, 10, 16, 9);

/** A send of so many seconds ago that ended five seconds later. */
const send = (
  agoSec: number,
  state: RecentSend['state'],
  { code = null, person = null }: { code?: string | null; person?: string | null } = {},
): RecentSend => ({
  state,
  code,
  person,
  createdAt: NOW - agoSec * 1000,
  updatedAt: NOW - agoSec * 1000 + 5000,
});
const failed = (index: number, code = 'TIMEOUT', person = `p${index % 3}`) =>
  send(index * 60, 'failed', { code, person });
const list = (count: number, one: (index: number) => RecentSend) =>
  Array.from({ length: count }, (_, index) => one(index));

test('texts without a result for four minutes are unanswered', () => {
  expect(unanswered([send(10, 'written'), send(240, 'pending'), send(300, 'written')], NOW)).toEqual({
    count: 2,
    since: NOW - 300_000,
  });
});

test.each<[string, RecentSend[]]>([
  ['new texts', [send(239, 'pending')]],
  ['a text that was followed by the result of another one', [send(100, 'delivered'), send(300, 'pending')]],
  ['a text that was followed by the failure of another one', [send(100, 'failed'), send(300, 'written')]],
  ['no texts', []],
])('%s: nothing is unanswered', (_name, sends) => {
  expect(unanswered(sends, NOW)).toBeNull();
});

test('five failures in a row to three people are counted, and texts without a result ignored', () => {
  expect(failing([send(1, 'pending'), ...list(5, failed), send(900, 'delivered')])).toEqual({
    count: 5,
    code: 'TIMEOUT',
    since: NOW - 240_000 + 5000,
  });
});

test.each<[string, RecentSend[]]>([
  ['four failures', list(4, failed)],
  ['failures to two people', list(9, (index) => failed(index, 'TIMEOUT', `p${index % 2}`))],
  ['failures that are about one message', list(9, (index) => failed(index, 'TARGET_NOT_FOUND'))],
  ['failures before a success', [send(1, 'delivered'), ...list(9, failed)]],
])('%s are not counted', (_name, sends) => {
  expect(failing(sends)).toBeNull();
});
