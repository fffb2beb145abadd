import { OPERATOR_CALLS } from '@footbridge/protocol/operator/calls';
import type { Call } from '@footbridge/protocol/operator/call';
import { checkAgainst, isObject } from '@footbridge/protocol/schema';
import type { Schema } from '@footbridge/protocol/schema';

/** Throws unless a successful response is exactly what the table of the operator API says: nothing is missing and nothing is undeclared. */
export function checkOperatorResponse(method: string, path: string, status: number, body: unknown): void {
  const [pathname = ''] = path.split('?');
  const definition = callOf(method, pathname);
  if (definition === undefined || status >= 300) return;
  const fault = faultOf(definition, status, body);
  if (fault !== undefined) throw new Error(`${method} ${definition.path}: ${fault}`);
}

const PATTERNS = OPERATOR_CALLS.map((definition) => ({
  definition,
  pattern: new RegExp(`^${definition.path.replaceAll(/:\w+/g, '[^/]+')}$`),
}));

function callOf(method: string, pathname: string): Call | undefined {
  const fitting = PATTERNS.filter(
    ({ definition, pattern }) => definition.method === method && pattern.test(pathname),
  );
  // An exact path wins: `/operator/keys/rejections` is not a key with that id.
  return (fitting.find(({ definition }) => definition.path === pathname) ?? fitting[0])?.definition;
}

function faultOf(definition: Call, status: number, body: unknown): string | undefined {
  if (status !== definition.status) return `responded with ${status} instead of ${definition.status}`;
  if (definition.response === undefined) return undefined;
  const checked = checkAgainst(definition.response, body);
  if (!checked.ok) return `in the response ${checked.reason}`;
  return undeclaredIn(definition.response, body, 'the response');
}

function undeclaredIn(schema: Schema, value: unknown, place: string): string | undefined {
  if ('anyOf' in schema) {
    const fitting = schema.anyOf.find((inner) => checkAgainst(inner, value).ok);
    return fitting === undefined ? undefined : undeclaredIn(fitting, value, place);
  }
  if (schema.type === 'array' && Array.isArray(value)) {
    for (const [index, entry] of value.entries()) {
      const fault = undeclaredIn(schema.items, entry, `${place}[${index}]`);
      if (fault !== undefined) return fault;
    }
    return undefined;
  }
  if (schema.type !== 'object' || !('properties' in schema) || !isObject(value)) return undefined;
  for (const [name, entry] of Object.entries(value)) {
    const inner = Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined;
    if (inner === undefined) return `${place} has ${name}, which is not declared`;
    const fault = undeclaredIn(inner, entry, `${place}.${name}`);
    if (fault !== undefined) return fault;
  }
  return undefined;
}
