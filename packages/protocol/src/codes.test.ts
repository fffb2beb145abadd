import { describe, expect, it } from 'vitest';
import { CODES, codeEntries, codeEntry } from './codes.ts';

const inChannel = (channel: string) =>
  Object.fromEntries(CODES.filter((entry) => entry.channel === channel).map((entry) => [entry.code, entry]));

describe('the catalogue of codes', () => {
  it('V2 webhook codes have the HTTP status and label of the contract', () => {
    const rows = [
      ['INVALID_CONTENT_TYPE', 400, 'Invalid content type'],
      ['INVALID_REQUEST_BODY', 400, 'Invalid request body'],
      ['MISSING_REQUIRED_FIELDS', 400, 'Missing required fields'],
      ['INVALID_ATTACHMENTS', 400, 'Invalid attachments'],
      ['MESSAGE_BODY_TOO_LONG', 400, 'Message body exceeds maximum length of <limit> characters'],
      ['RECIPIENT_PHONE_INVALID', 400, 'Invalid phone number format'],
      ['UNSUPPORTED_MESSAGE_TYPE', 400, 'Unsupported message type: <value>'],
      ['LOCATION_NOT_CONNECTED', 404, 'Location not connected'],
      ['TOO_MANY_REQUESTS', 429, 'TOO_MANY_REQUESTS'],
      ['INTERNAL_ERROR', 500, 'Internal error'],
    ] as const;
    for (const [code, http, label] of rows) expect(inChannel('webhook')[code]).toMatchObject({ http, label });
  });

  it('V2 status codes have the retry policy of the contract', () => {
    const retry = {
      CLIENT_NOT_CONNECTED: 'later',
      MESSAGE_TOO_OLD: 'no',
      OPTED_OUT: 'no',
      SET_ASIDE: 'later',
      IMESSAGE_GROUP_INVALID_RECIPIENTS: 'no',
      IMESSAGE_ERROR: 'sometimes',
      INVALID_FRAME: 'no',
      UI_AUTOMATION_DISABLED: 'no',
      AX_DENIED: 'no',
      RATE_LIMITED: 'yes',
      INTERNAL_ERROR: 'yes',
      TIMEOUT: 'yes',
      TARGET_NOT_FOUND: 'sometimes',
      INVALID_KIND_FIELD_COMBO: 'no',
      PICKER_FAILED: 'yes',
      EMOJI_NOT_IN_RECENTS: 'no',
      STICKER_NOT_FEASIBLE: 'yes',
      STICKER_DOWNLOAD_FAILED: 'yes',
      STICKER_ENCODE_FAILED: 'no',
      COMPOSE_FAILED: 'sometimes',
      NOT_IMPLEMENTED: 'no',
      MISSING_REQUIRED_FIELDS: 'no',
      MESSAGE_BODY_TOO_LONG: 'no',
      RECIPIENT_PHONE_INVALID: 'no',
    };
    const found = Object.entries(inChannel('status')).map(([code, entry]) => [code, entry.retry]);
    expect(Object.fromEntries(found)).toEqual(retry);
  });

  it('V2 meanings and advice do not refer to the error text of the Mac, which only the CRM receives', () => {
    const words = CODES.map(({ meaning, advice }) => `${meaning} ${advice}`);
    expect(words.filter((text) => text.includes('error.message'))).toEqual([]);
  });

  it('V2 OAuth and enrolment codes have the HTTP status of the contract', () => {
    const codesWithStatus = (channel: string) =>
      CODES.filter((entry) => entry.channel === channel).map((entry) => `${entry.code} ${entry.http}`);
    expect(codesWithStatus('oauth')).toEqual(
      expect.arrayContaining([
        'OAUTH_DISABLED 503',
        'OAUTH_NOT_CONFIGURED 500',
        'INVALID_REQUEST 400',
        'OAUTH_EXCHANGE_FAILED 400',
        'OAUTH_EXCHANGE_FAILED 500',
      ]),
    );
    expect(codesWithStatus('enrolment')).toEqual(
      expect.arrayContaining([
        'LICENSE_INVALID 403',
        'LICENSE_SUSPENDED 403',
        'SEATS_EXHAUSTED 409',
        'INVALID_REQUEST 400',
      ]),
    );
  });

  it('V2 every inbound code allows another attempt', () => {
    const retry = Object.entries(inChannel('inbound')).map(([code, entry]) => `${code} ${entry.retry}`);
    expect(retry).toEqual([
      'NO_TOKEN later',
      'TOKEN_REJECTED later',
      'NO_CONTACT later',
      'CRM_REFUSED sometimes',
      'UNCERTAIN later',
      'SET_ASIDE later',
    ]);
  });

  it('V2 a channel has one entry per code, except for OAUTH_EXCHANGE_FAILED with its two HTTP statuses', () => {
    const keys = CODES.map((entry) => `${entry.channel} ${entry.code} ${entry.http}`);
    expect(new Set(keys).size).toBe(keys.length);
    const codes = CODES.map((entry) => `${entry.channel} ${entry.code}`);
    const duplicates = codes.filter((code, index) => codes.indexOf(code) !== index);
    expect(duplicates).toEqual(['oauth OAUTH_EXCHANGE_FAILED']);
  });

  it('V2 every entry has an upper-case code, an HTTP status if it is a response, and full sentences', () => {
    for (const entry of CODES) {
      expect(entry.code).toMatch(/^[A-Z]+(_[A-Z]+)*$/);
      expect(entry.http !== undefined).toBe(!['status', 'inbound'].includes(entry.channel));
      for (const sentence of [entry.meaning, entry.advice]) expect(sentence).toMatch(/^\S.{10,}\.$/);
    }
  });

  it('V2 no entry mentions a console, which the service does not have', () => {
    for (const { meaning, advice } of CODES) expect(`${meaning} ${advice}`).not.toMatch(/console/i);
  });

  it('V2 codeEntry looks a code up in one channel or in all, and returns undefined for an unknown code', () => {
    expect(codeEntry('INTERNAL_ERROR')?.channel).toBe('webhook');
    expect(codeEntry('INTERNAL_ERROR', 'status')?.channel).toBe('status');
    expect(codeEntries('INTERNAL_ERROR').map((entry) => entry.channel)).toContain('operator');
    expect(codeEntry('TIMEOUT', 'webhook')).toBeUndefined();
    expect(codeEntry('toString')).toBeUndefined();
    expect(codeEntries('NO_SUCH_CODE')).toEqual([]);
  });
});
