import { FakeClock } from '@footbridge/testkit/fake-clock';
import { expect, it } from 'vitest';

import { succeeded } from '../../platform/retry/retry.ts';
import { createCrmClient } from '../crm/crm-client.ts';
import { createStatusCalls } from './status-calls.ts';

/** Reads a message's status from a CRM that responds with `body`. */
async function read(body: unknown, status = 200) {
  const paths: string[] = [];
  const client = createCrmClient({
    apiVersion: '2021-07-28',
    transport: {
      async send({ method, path }) {
        paths.push(`${method} ${path}`);
        return { status, headers: new Map(), text: JSON.stringify(body) };
      },
      async close() {},
    },
    host: 'https://crm.example',
    tokens: {
      value: {
        bearer: async () => ({ authorization: 'Bearer token' }),
        renew: async () => ({ authorization: 'Bearer token' }),
      },
    },
    clock: new FakeClock(),
  });
  const result = await createStatusCalls(client, false).read('loc', 'm/1', {});
  expect(paths).toEqual(['GET /conversations/messages/m%2F1']);
  return result;
}

it.each([
  ['pending', 'pending'],
  ['delivered', 'delivered'],
  ['read', 'delivered'],
  ['failed', 'failed'],
  ['undelivered', 'failed'],
  ['sent', 'none'],
  [undefined, 'none'],
])('A5 a message that the CRM shows as %s is read as %s', async (status, shown) => {
  expect(await read({ id: 'm/1', locationId: 'loc', status })).toEqual(succeeded(shown));
});

it.each([
  [400, 'Message not found'],
  [401, 'No message found for the id'],
  [403, 'The token does not have access to this location.'],
  [404, ''],
])('A3 a message is absent after %i %s', async (status, message) => {
  expect(await read({ message }, status)).toEqual(succeeded('absent'));
});

it('A3 a message of another location is absent', async () => {
  expect(await read({ id: 'm/1', locationId: 'other', status: 'pending' })).toEqual(succeeded('absent'));
});

it('A5 a response without the message, or without the scope, says nothing about it', async () => {
  expect(await read({ id: 'm2', locationId: 'loc', status: 'delivered' })).toMatchObject({ kind: 'empty' });
  expect(await read({ message: 'The token is not authorized for this scope.' }, 401)).toMatchObject({
    kind: 'refused',
  });
});
