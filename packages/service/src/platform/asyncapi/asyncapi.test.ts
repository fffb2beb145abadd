import { CLOSE } from '@footbridge/protocol/close-codes';
import { FRAME_SHAPES, parseMacFrame, parseServiceFrame } from '@footbridge/protocol/frames';
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';

import { asyncApiDocument } from './asyncapi-document.ts';
import { EXAMPLES } from './frame-examples.ts';

interface Document {
  asyncapi: string;
  servers: Record<string, unknown>;
  channels: { mac: { address: string; messages: Record<string, unknown> } };
  operations: Record<string, { action: string; messages: { $ref: string }[] }>;
  components: {
    messages: Record<string, { examples: { payload: { type: string } }[] }>;
    schemas: Record<string, object>;
  };
  'x-close-codes': { code: number; comesBack: boolean }[];
}

const document = JSON.parse(
  JSON.stringify(asyncApiDocument({ version: '1.2.3', url: 'https://bridge.example.com' })),
) as Document;
const TYPES = [...Object.keys(FRAME_SHAPES.mac), ...Object.keys(FRAME_SHAPES.service)];

describe('AsyncAPI document', () => {
  it('M1 says where the channel is and which way each frame goes', () => {
    expect(document).toMatchObject({
      asyncapi: '3.0.0',
      info: { version: '1.2.3' },
      servers: { service: { host: 'bridge.example.com', protocol: 'wss' } },
      channels: { mac: { address: '/mac/socket' } },
    });
    const typesOf = (name: string) =>
      document.operations[name]?.messages.map(({ $ref }) => $ref.split('/').at(-1));
    expect(typesOf('receiveFromMac')).toEqual(Object.keys(FRAME_SHAPES.mac));
    expect(typesOf('sendToMac')).toEqual(Object.keys(FRAME_SHAPES.service));
    expect(document.operations).toMatchObject({
      receiveFromMac: { action: 'receive' },
      sendToMac: { action: 'send' },
    });
  });

  it('M1 contains every frame with the schema that validates it', () => {
    expect(Object.keys(document.components.messages).toSorted()).toEqual(TYPES.toSorted());
    expect(document.components.schemas).toEqual({ ...FRAME_SHAPES.mac, ...FRAME_SHAPES.service });
  });

  it('M1 has no dangling reference', () => {
    const missing = references(document).filter((pointer) => resolve(pointer) === undefined);
    expect(missing).toEqual([]);
    expect(references(document).length).toBeGreaterThan(20);
  });

  it('M1 lists every close code once', () => {
    const codes = document['x-close-codes'].map(({ code }) => code);
    expect(codes.toSorted((a, b) => a - b)).toEqual(Object.values(CLOSE).toSorted((a, b) => a - b));
    expect(document['x-close-codes'].filter(({ comesBack }) => !comesBack).map(({ code }) => code)).toEqual([
      4501, 4503, 4504,
    ]);
  });

  it.each(EXAMPLES)('M1 the example of $type matches its schema and can be parsed', (frame) => {
    const schema = document.components.schemas[frame.type] ?? {};
    const ajv = new Ajv({ strict: false, validateFormats: false });
    expect(ajv.validate(schema, frame), ajv.errorsText()).toBe(true);
    const text = JSON.stringify(frame);
    const parsed = frame.type in FRAME_SHAPES.mac ? parseMacFrame(text) : parseServiceFrame(text);
    expect(parsed).toEqual({ kind: 'frame', frame });
  });

  it('M1 gives an example of every frame', () => {
    for (const type of TYPES) expect(document.components.messages[type]?.examples.length).toBeGreaterThan(0);
  });
});

function references(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    name === '$ref' && typeof inner === 'string' ? [inner] : references(inner),
  );
}

function resolve(pointer: string): unknown {
  return pointer
    .slice(2)
    .split('/')
    .reduce<unknown>(
      (place, name) => (typeof place === 'object' && place !== null ? Reflect.get(place, name) : undefined),
      document,
    );
}
