import { expect, it } from 'vitest';

import { describeDifference } from './describe-difference.ts';

const SENT = 'Zoë 👩🏽‍🚀 “hi” & <b>you</b>\nsecond line';

it.each([
  ['unchanged', SENT, undefined],
  ['with CRLF and surrounding white space', ` ${SENT.replace('\n', '\r\n')}\n`, undefined],
  ['in NFD', SENT.normalize('NFD'), undefined],
  ['in one line', SENT.replace('\n', ' '), 'line breaks became spaces'],
  ['without emoji', SENT.replace('👩🏽‍🚀', ''), 'emoji are missing'],
  ['in utf8mb3', SENT.replace(/[\u{10000}-\u{10FFFF}]/gu, ''), 'beyond U+FFFF are missing'],
  ['in ASCII', SENT.replace(/[^\n -~]/gu, '?'), 'non-ASCII characters became question marks'],
  ['as HTML', SENT.replace('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'), 'escaped as HTML'],
  ['without tags', SENT.replaceAll(/<[^>]*>/g, ''), 'HTML tags are missing'],
  ['shortened', SENT.slice(0, 20), 'units were sent and 20 arrived'],
  ['with a signature', `${SENT} -- sent by X`, '13 additional characters'],
])('describes how a text that arrives %s was changed', (_name, got, expected) => {
  const found = describeDifference(SENT, got);
  if (expected === undefined) expect(found).toBeUndefined();
  else expect(found).toContain(expected);
});

it('names a missing footer', () => {
  const footer = '\n-- svc-metadata:v1 --\n{"chat_id":1}\n-- end svc-metadata --';
  expect(describeDifference(`Hi${footer}`, 'Hi')).toContain('the footer is missing');
});
