import { describe, expect, it } from 'vitest';

import { createRedact, excerpt } from './redact.ts';

describe('redact', () => {
  const redact = createRedact(['the-token-of-this-run', '']);

  it.each([
    ['{"echo":"the-token-of-this-run"}', '{"echo":"…"}'],
    ['{"access_token":"abc.def","x":1}', '{"access_token":"…","x":1}'],
    ['Authorization: Bearer abcdef', 'Authorization: Bearer …'],
    ['client_secret=s3cr3t&x=1', 'client_secret=…&x=1'],
    ['jwt eyJhbGciOi.eyJzdWIiOi.c2lnbmF0dXJl end', 'jwt … end'],
    ['to +1 (415) 555-0142 now', 'to ••• now'],
    ['mail jo.doe@example.com', 'mail …@…'],
    [
      '{"statusCode":422,"message":"contactId is required"}',
      '{"statusCode":422,"message":"contactId is required"}',
    ],
  ])('%s', (text, expected) => {
    expect(redact(text)).toBe(expected);
  });

  it('excerpt returns the start of a long text on one line, without control characters', () => {
    expect(excerpt(`a\n\n b\u001b[31m${'c'.repeat(300)}`, 10)).toBe('a b·[31mcc…');
  });
});
