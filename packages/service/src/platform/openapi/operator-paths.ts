import { changesSomething } from '@footbridge/protocol/operator/call';
import { OPERATOR_CALLS } from '@footbridge/protocol/operator/calls';
import type { Schema } from '@footbridge/protocol/schema';

import { errorResponses } from './error-responses.ts';
import type { JsonSchema } from './json-schema.ts';

type OperatorCall = (typeof OPERATOR_CALLS)[number];

/** The calls of the operator, on their own listener. */
export function operatorPaths(): Record<string, JsonSchema> {
  const byPath = Map.groupBy(OPERATOR_CALLS, ({ path }) => path.replaceAll(/:(\w+)/g, '{$1}'));
  return Object.fromEntries(
    byPath
      .entries()
      .map(([path, calls]) => [
        path,
        Object.fromEntries(calls.map((call) => [call.method.toLowerCase(), operation(call)])),
      ]),
  );
}

const json = (schema: Schema) => ({ 'application/json': { schema } });

const WHOSE = {
  none: 'A token for some locations may not use it.',
  named: 'A token for some locations may use it for those.',
  filtered: 'A token for some locations sees only those.',
};

const PAGED =
  'If the list goes on, the response has `next`: the same call with it as `after` continues the list.';

const isPaged = ({ response }: OperatorCall): boolean => Object.hasOwn(response?.properties ?? {}, 'next');

function operation(call: OperatorCall): JsonSchema {
  const { name, summary, notes, status, response, body, locations } = call;
  const content = response === undefined ? {} : { content: json(response) };
  return {
    operationId: name,
    summary,
    description: [
      notes,
      isPaged(call) ? PAGED : '',
      WHOSE[locations],
      changesSomething(call) ? 'A read-only token may not use it.' : '',
    ]
      .filter(Boolean)
      .join(' '),
    tags: ['Operator'],
    security: [{ operatorToken: [] }],
    parameters: [...pathParameters(call), ...queryParameters(call)],
    ...(body !== undefined && { requestBody: { required: true, content: json(body) } }),
    responses: {
      [status]: { description: response === undefined ? 'Done.' : `${summary}.`, ...content },
      ...errorResponses('operator', [
        'UNAUTHORIZED',
        'FORBIDDEN',
        ...requestErrors(call),
        ...(call.errors ?? []),
      ]),
    },
  };
}

const requestErrors = ({ path, query, body }: OperatorCall): readonly string[] =>
  query !== undefined || body !== undefined || path.includes(':locationId') ? ['INVALID_REQUEST'] : [];

const pathParameters = ({ path }: OperatorCall): JsonSchema[] =>
  [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));

const queryParameters = ({ query }: OperatorCall): JsonSchema[] =>
  Object.entries(query?.properties ?? {}).map(([name, schema]) => ({
    name,
    in: 'query',
    required: query?.required.includes(name) ?? false,
    schema,
  }));
