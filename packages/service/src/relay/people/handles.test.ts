import { expect, it } from 'vitest';

import { createPhones, keyedHash } from './handles.ts';

const formsOf = (country: string, given: string) => createPhones(country).forms(given);

it.each([
  ['US', '+14155550100', ['+14155550100', '4155550100']],
  ['US', '(415) 555-0100', ['+14155550100', '4155550100']],
  ['US', '+14155550100 (SMSft)', ['+14155550100', '4155550100']],
  ['US', '1 415 555 0100', ['+14155550100', '14155550100', '4155550100']],
  ['DE', '+49 171 1234567', ['+491711234567', '01711234567']],
  ['US', '+49 171 1234567', ['+491711234567']],
  ['NO', '+4791234567', ['+4791234567', '91234567']],
  ['US', '72345', ['72345']],
  ['US', ' Anna.B@Example.com', [' Anna.B@Example.com']],
  ['US', '0171 1234567', ['0171 1234567']],
])('with default country %s, %j is recorded in these forms: %j', (country, given, forms) => {
  expect(formsOf(country, given)).toEqual(forms);
});

it('omits the form without the country code unless it is the same number in the default country', () => {
  expect(formsOf('IT', '+393471234567')).toEqual(['+393471234567', '3471234567']);
  expect(formsOf('US', '+393471234567')).toEqual(['+393471234567']);
});

it.each([
  ['US', '+299321000'],
  ['US', '+50021234'],
  ['DE', '+4791234567'],
  ['US', '+919012345678'],
])('omits the form without the country code when it is not the same number in %s: %s', (country, given) => {
  expect(formsOf(country, given)).toEqual([given]);
});

const [OLD, NEW] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];

it('hashes by every key, the newest first', () => {
  const [newest, old] = keyedHash([NEW, OLD]).handle('+15555550100');
  expect(keyedHash([NEW]).handle('+15555550100')).toEqual([newest]);
  expect(keyedHash([OLD]).handle('+15555550100')).toEqual([old]);
  expect(newest).not.toBe(old);
});

it.each([
  ['+1 (555) 555-0100', '+15555550100'],
  [' Jo@Example.com ', 'jo@example.com'],
])('treats %j like %j', (spelling, handle) => {
  const hash = (text: string) => keyedHash([NEW]).handle(text);
  expect(hash(spelling)).toEqual(hash(handle));
});

it('tells different handles apart', () => {
  const hash = (text: string) => keyedHash([NEW]).handle(text);
  expect(hash('+15555550100')).not.toEqual(hash('+15555550101'));
  expect(hash('Bank 72345')).not.toEqual(hash('72345'));
  expect(hash('Bank')).not.toEqual(hash('Shop'));
});
