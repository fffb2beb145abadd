import { SettingError } from '@footbridge/runtime/settings';

/** Throws a SettingError. The text completes the sentence "NAME …" and does not quote the value. */
export const fail = (expected: string): never => {
  throw new SettingError(expected);
};

export const text = (value: string) => value;

export const wholeNumber = (minimum: number, maximum: number) => (value: string) => {
  const number = /^\d{1,12}$/.test(value) ? Number(value) : Number.NaN;
  return number >= minimum && number <= maximum
    ? number
    : fail(`must be a whole number from ${minimum} to ${maximum}`);
};

/** Parses a number of seconds to milliseconds. */
export const seconds = (minimum: number, maximum: number) => (value: string) =>
  wholeNumber(minimum, maximum)(value) * 1000;

export const flag = (value: string) => {
  if (value === 'true') return true;
  if (value === 'false') return false;
  return fail('must be true or false');
};

export const choice =
  <const T extends readonly string[]>(...choices: T) =>
  (value: string): T[number] =>
    choices.find((one) => one === value) ?? fail(`must be one of ${choices.join(', ')}`);

export const onOff = (value: string) => choice('on', 'off')(value) === 'on';

export const matching = (pattern: RegExp, expected: string) => (value: string) =>
  pattern.test(value) ? value : fail(expected);

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?(\/|$)/;

export const webAddress = (value: string) => {
  const full = /^https?:\/\//.test(value) ? value : `${LOOPBACK.test(value) ? 'http' : 'https'}://${value}`;
  if (!URL.canParse(full)) return fail('must be a host name or an http(s) address');
  const url = new URL(full);
  if (url.username !== '' || url.search !== '' || url.hash !== '')
    return fail('must be an address without credentials, query or fragment');
  return url.href.replace(/\/$/, '');
};

export const isPercentEncoded = (value: string) => !/%(?![\da-f]{2})/i.test(value);
