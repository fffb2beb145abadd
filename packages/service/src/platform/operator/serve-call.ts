import type { BodyOf, Call, ParamsOf, QueryOf, ResponseOf } from '@footbridge/protocol/operator/call';
import { asLocationId } from '@footbridge/protocol/ids';
import type { LocationId } from '@footbridge/protocol/ids';
import { locationId as LOCATION_ID } from '@footbridge/protocol/operator/parts';
import { checkAgainst } from '@footbridge/protocol/schema';
import type { FromSchema, ObjectSchema, Schema } from '@footbridge/protocol/schema';
import type { FastifyInstance, FastifyRequest } from 'fastify';

import { operatorError } from './operator-request.ts';

/** A call whose path, query and body match its definition. */
export interface Called<C extends Call> {
  readonly params: { readonly [K in keyof ParamsOf<C>]: K extends 'locationId' ? LocationId : string };
  readonly query: QueryOf<C>;
  readonly body: BodyOf<C>;
  readonly request: FastifyRequest;
}

/** Registers the route of a call. Its handler gets only what the definition allows. */
export function serveCall<const C extends Call>(
  app: FastifyInstance,
  definition: C,
  handle: (called: Called<C>) => Promise<ResponseOf<C>>,
): void {
  const { method, path, locations, bodyLimit, status, secret, query, body } = definition;
  app.route<{ Params: Record<string, string> }>({
    method,
    url: path,
    ...(bodyLimit !== undefined && { bodyLimit }),
    config: locations === 'none' ? {} : { locations },
    handler: async (request, reply) => {
      const called = {
        params: readParams(request.params),
        query: query === undefined ? {} : readAs(query, fromText(query, request.query)),
        body: body === undefined ? {} : readAs(body, request.body),
        request,
      };
      const response = await handle(called as unknown as Called<C>);
      if (secret === true) reply.header('Cache-Control', 'no-store');
      return reply.code(status).send(response);
    },
  });
}

function readParams(params: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const { locationId } = params;
  if (locationId === undefined) return params;
  const isId = checkAgainst(LOCATION_ID, locationId).ok && asLocationId(locationId) !== undefined;
  if (!isId) throw operatorError('INVALID_REQUEST', 'locationId: not a valid location id.');
  return params;
}

/** Returns the value as the schema declares it. Throws a RequestError that names the field and the rule. */
export function readAs<const S extends Schema>(schema: S, value: unknown): FromSchema<S> {
  const checked = checkAgainst(schema, value);
  if (checked.ok) return checked.value;
  const { path, rule } = checked;
  throw operatorError('INVALID_REQUEST', `${path === '' ? 'The body' : path}: must be ${rule}`);
}

/** A query has only texts. An empty one such as `?status=` counts as absent. */
function fromText({ properties }: ObjectSchema, query: unknown): unknown {
  const given = Object.entries(Object(query)).filter(([, value]) => value !== '');
  return Object.fromEntries(given.map(([name, value]) => [name, valueOf(properties[name], value)]));
}

function valueOf(schema: Schema | undefined, value: unknown): unknown {
  const isNumber = schema !== undefined && 'type' in schema && schema.type === 'integer';
  return isNumber && typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value;
}
