/** A JSON Schema of the 2020-12 dialect, which OpenAPI 3.1 uses unchanged. */
export type JsonSchema = Readonly<Record<string, unknown>>;

export const text = (description: string, more: JsonSchema = {}): JsonSchema => ({
  type: 'string',
  description,
  ...more,
});

/** An object whose named fields are stable. Others may be added, so clients must ignore unknown fields. */
export const object = (
  properties: Readonly<Record<string, JsonSchema>>,
  required: readonly string[] = Object.keys(properties),
): JsonSchema => ({ type: 'object', properties, required });

export const list = (items: JsonSchema, more: JsonSchema = {}): JsonSchema => ({
  type: 'array',
  items,
  ...more,
});

export const schemaRef = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });
