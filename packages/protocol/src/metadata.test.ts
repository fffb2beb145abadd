import { expect, it } from 'vitest';
import { knownFields, type Metadata } from './metadata.ts';

const read = (json: string) => knownFields(JSON.parse(json) as Metadata);

it('F3 knownFields returns fields of the expected type', () => {
  const json =
    '{"chat_id":-3,"is_group":true,"recipients":["+14155550100"],"sender":"a@b.c","message_guid":"g","service_name":"RCS",' +
    '"voice":{"duration_ms":900},"animation":{"effect":"slam","kind":"bubble"},"reply_to":{"message_guid":"h"}}';
  expect(read(json)).toEqual(JSON.parse(json));
});

it('F4 knownFields drops a field of another type and keeps the others', () => {
  expect(
    read(
      '{"chat_id":"42","is_group":1,"recipients":["a",2],"sender":"","voice":[],"animation":{"kind":"x"},"message_guid":"g"}',
    ),
  ).toEqual({ message_guid: 'g' });
});

it('F4 knownFields drops unknown fields and inherited names', () => {
  expect(read('{"later":1,"__proto__":{"chat_id":7},"voice":{"mime_type":"audio/mp4","later":2}}')).toEqual({
    voice: { mime_type: 'audio/mp4' },
  });
});
