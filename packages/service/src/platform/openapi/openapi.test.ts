import { readFileSync } from 'node:fs';

import { CODES } from '@footbridge/protocol/codes';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { describe, expect, it } from 'vitest';

import { breakingChanges } from './compare-shapes.ts';
import { openApiDocument } from './openapi-document.ts';

const document = openApiDocument({ version: '0.1.0', url: 'https://bridge.example' });
const released: unknown = JSON.parse(readFileSync(new URL('golden/openapi.json', import.meta.url), 'utf8'));

type Node = Record<string, unknown>;
const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null;

function* walk(node: unknown, place = ''): Generator<[string, Node]> {
  if (!isNode(node)) return;
  yield [place, node];
  for (const [name, value] of Object.entries(node)) yield* walk(value, `${place}/${name}`);
}

const operations = Object.entries({ ...document.paths, ...document.webhooks }).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({
    name: `${method} ${path}`,
    path,
    operation: operation as Node,
  })),
);

describe('the document', () => {
  it.each(operations)('V1 $name is described in full', ({ path, operation }) => {
    expect(operation).toMatchObject({
      operationId: expect.stringMatching(/^[a-z][A-Za-z]+$/),
      summary: expect.stringMatching(/\w/),
      tags: [expect.any(String)],
      security: expect.any(Array),
    });
    const responses = Object.entries(operation['responses'] as Record<string, Node>);
    expect(responses.length).toBeGreaterThan(0);
    for (const [status, response] of responses) {
      expect(status).toMatch(/^[1-5]\d\d$/);
      expect(response['description'], status).toMatch(/\w/);
    }
    const declared = ((operation['parameters'] ?? []) as Node[]).filter(
      (parameter) => parameter['in'] === 'path',
    );
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    expect(declared.map((parameter) => parameter['name'])).toEqual(inPath);
  });

  it('V1 gives every operation a unique name', () => {
    const names = operations.map(({ operation }) => operation['operationId']);
    expect(new Set(names).size).toBe(names.length);
  });

  it('V1 has no dangling reference and no unused schema', () => {
    const references = [...walk(document)].flatMap(([, node]) =>
      typeof node['$ref'] === 'string' ? [node['$ref']] : [],
    );
    const names = Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`);
    expect(references.filter((reference) => !names.includes(reference))).toEqual([]);
    expect(names.filter((name) => !references.includes(name))).toEqual([]);
  });

  it('V1 names only security schemes that exist', () => {
    for (const { operation } of operations)
      for (const requirement of operation['security'] as Node[])
        for (const name of Object.keys(requirement))
          expect(document.components.securitySchemes).toHaveProperty(name);
  });

  it('V1 contains only schemas that a strict validator accepts', () => {
    const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, strictRequired: false });
    addFormats.default(ajv);
    ajv.addFormat('binary', true).addVocabulary(['components']);
    ajv.addSchema({
      $id: 'https://bridge.example/document',
      components: { schemas: document.components.schemas },
    });
    const schemas = [...walk({ ...document.paths, ...document.webhooks })].flatMap(([place, node]) =>
      isNode(node['schema']) ? [[place, node['schema']] as const] : [],
    );
    expect(schemas.length).toBeGreaterThan(40);
    for (const [place, schema] of schemas) {
      const rooted: unknown = JSON.parse(
        JSON.stringify(schema).replaceAll('"#/components', '"https://bridge.example/document#/components'),
      );
      expect(() => ajv.compile(rooted as object), place).not.toThrow();
    }
  });

  it('V2 contains every code of the webhook and the OAuth callback', () => {
    const text = JSON.stringify([document.paths, document.components]);
    for (const { code } of CODES.filter(({ channel }) => ['webhook', 'oauth'].includes(channel)))
      expect(text, code).toContain(`"const":"${code}"`);
  });
});

describe('compared with the last release', () => {
  it('V1 nothing was removed or renamed, and no type has changed', () => {
    expect(breakingChanges(released, document)).toEqual([]);
  });

  const changed = (change: (copy: typeof document) => void) => {
    const copy = structuredClone(document);
    change(copy);
    return breakingChanges(document, copy);
  };
  const at = (node: unknown, path: string): Node =>
    path.split('/').reduce((inner, name) => inner[name.replaceAll('|', '/')] as Node, node as Node);

  it.each<[string, (copy: typeof document) => void, RegExp]>([
    ['a removed path', (copy) => delete at(copy, 'paths')['/crm/webhook/sms'], /sms is gone/],
    ['a removed method', (copy) => delete at(copy, 'paths/|oauth|callback|crm')['post'], /post is gone/],
    [
      'a removed response',
      (copy) => delete at(copy, 'paths/|crm|webhook/post/responses')['404'],
      /404 is gone/,
    ],
    [
      'a removed field',
      (copy) => delete at(copy, 'components/schemas/Sent/properties')['requestId'],
      /requestId is gone/,
    ],
    [
      'a renamed field',
      (copy) => {
        const fields = at(copy, 'components/schemas/OutboundMessage/properties');
        fields['recipient'] = fields['phone'];
        delete fields['phone'];
      },
      /phone is gone/,
    ],
    [
      'a field of another type',
      (copy) => (at(copy, 'components/schemas/Sent/properties/locationId')['type'] = 'integer'),
      /locationId\/type changed/,
    ],
    [
      'a field that is no longer guaranteed',
      (copy) => (at(copy, 'components/schemas/Sent')['required'] = ['status']),
      /requestId is no longer guaranteed/,
    ],
    [
      'a new required field of a request',
      (copy) =>
        (at(copy, 'components/schemas/OutboundMessage')['required'] = ['locationId', 'contactId', 'userId']),
      /userId is required now/,
    ],
    [
      'a call to the CRM without a field that it guaranteed',
      (copy) => (at(copy, 'components/schemas/InboundMessage')['required'] = ['type']),
      /message is no longer guaranteed/,
    ],
    [
      'a removed code',
      (copy) => {
        const variants = at(copy, 'paths/|crm|webhook/post/responses/400/content/application|json/schema');
        variants['oneOf'] = (variants['oneOf'] as Node[]).filter(
          (body) => !JSON.stringify(body).includes('PHONE'),
        );
      },
      /RECIPIENT_PHONE_INVALID is gone/,
    ],
    [
      'a removed value',
      (copy) =>
        (at(copy, 'components/schemas/StatusUpdate/properties/status')['enum'] = ['pending', 'failed']),
      /enum.* is gone/,
    ],
    [
      'a new required header',
      (copy) =>
        (at(copy, 'paths/|crm|webhook/post')['parameters'] = [
          { name: 'X-New', in: 'header', required: true },
        ]),
      /X-New is required now/,
    ],
  ])('V1 %s is a breaking change', (_name, change, expected) => {
    expect(changed(change).join('\n')).toMatch(expected);
  });

  it('V1 additions are not breaking changes', () => {
    const changes = changed((copy) => {
      at(copy, 'paths')['/new'] = {};
      at(copy, 'components/schemas/Sent/properties')['more'] = { type: 'string' };
      at(copy, 'components/schemas/OutboundMessage/properties')['more'] = { type: 'string' };
      at(copy, 'paths/|crm|webhook/post')['summary'] = 'Described differently';
    });
    expect(changes).toEqual([]);
  });
});
