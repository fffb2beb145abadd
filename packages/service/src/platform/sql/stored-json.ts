import { checkAgainst, list } from '@footbridge/protocol/schema';
import type { FromSchema, Schema } from '@footbridge/protocol/schema';

/** A column with a list of texts, such as the ids of locations. */
export const TEXTS = list({ type: 'string' });

/** Returns the value of a column that has JSON. Throws an Error that names the field and the rule. */
export function readStored<const S extends Schema>(schema: S, json: string): FromSchema<S> {
  const checked = checkAgainst(schema, JSON.parse(json, wellFormed));
  if (checked.ok) return checked.value;
  throw new Error(`in stored JSON ${checked.reason}`);
}

/** A schema refuses lone surrogates, but a row that has one must stay readable. */
const wellFormed = (_name: string, value: unknown): unknown =>
  typeof value === 'string' ? value.toWellFormed() : value;
