import type { JsonSchema } from '@footbridge/service/platform/openapi/json-schema';
import { openApiDocument } from '@footbridge/service/platform/openapi/openapi-document';

const HEAD = `# HTTP API

<!-- Made from packages/service/src/platform/openapi by \`npm run check -- --write\`. -->

The public calls of the service, and the calls that it makes to the CRM, from the OpenAPI document that the service serves: \`GET /openapi.json\` on the operator listener. Unknown fields are ignored in both directions, and new ones may be added. [wire.md](wire.md) has the frames of the Mac channel, also available as AsyncAPI from \`GET /asyncapi.json\`, and [the calls of the operator](wire.md#operator-calls). [errors.md](errors.md) has every code.
`;

interface Operation {
  readonly summary: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly parameters?: readonly { name: string; in: string; required?: boolean; description?: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { schema: JsonSchema }>> };
  readonly responses: Readonly<Record<string, { readonly description: string }>>;
}

/** The text of `docs/api.md`. */
export function apiPage(): string {
  const document = openApiDocument({ version: '0', url: '' });
  const { schemas } = document.components;
  const groups = new Map<string, string[]>();
  const seen = new Map<string, string>();
  for (const [name, methods] of [...Object.entries(document.paths), ...Object.entries(document.webhooks)])
    for (const [method, operation] of Object.entries(methods as Record<string, Operation>)) {
      const group = operation.tags?.[0] ?? 'Other calls';
      // docs/wire.md has the calls of the operator.
      if (group === 'Operator') continue;
      const call = name.startsWith('/') ? `\`${method.toUpperCase()} ${name}\`` : name;
      groups.set(group, [...(groups.get(group) ?? []), section(call, operation, schemas, seen)]);
    }
  const texts = [...groups].map(([group, sections]) => `## ${group}\n\n${sections.join('\n')}`);
  return [HEAD, ...texts].join('\n');
}

type Schemas = Readonly<Record<string, JsonSchema>>;

/** Refers to an earlier call that has the same tables instead of repeating them. */
function section(call: string, operation: Operation, schemas: Schemas, seen: Map<string, string>): string {
  const text = `${operation.summary}. ${operation.description ?? ''}`.trim();
  const tables = tablesOf(operation, schemas);
  const like = seen.get(tables);
  seen.set(tables, like ?? call);
  return like === undefined
    ? `### ${call}\n\n${text}\n\n${tables}`
    : `### ${call}\n\n${text} Fields and responses are the same as for ${like}.\n`;
}

function tablesOf(operation: Operation, schemas: Schemas): string {
  const parts: string[] = [];
  const fields = [
    ...(operation.parameters ?? []).map((one) => ({ ...one, from: one.in, text: one.description ?? '' })),
    ...Object.entries(operation.requestBody?.content ?? {}).flatMap(([type, { schema }]) =>
      fieldsOf(schema, schemas).map((field) => ({
        ...field,
        from: type === 'application/json' ? 'body' : type,
      })),
    ),
  ];
  const rows = fields.map(
    ({ name, from, required, text }) =>
      `| \`${name}\` | ${from} | ${required === true ? 'yes' : ''} | ${cell(text)} |`,
  );
  if (rows.length > 0)
    parts.push(`| field | in | required | meaning |\n|---|---|---|---|\n${rows.join('\n')}\n`);
  const responses = Object.entries(operation.responses).map(
    ([status, { description }]) => `| ${status} | ${cell(description)} |`,
  );
  parts.push(`| response | meaning |\n|---|---|\n${responses.join('\n')}\n`);
  return parts.join('\n');
}

function fieldsOf(schema: JsonSchema, schemas: Schemas): { name: string; required: boolean; text: string }[] {
  const reference = typeof schema['$ref'] === 'string' ? schema['$ref'].split('/').at(-1) : undefined;
  const { properties = {}, required = [] } = (
    reference === undefined ? schema : (schemas[reference] ?? {})
  ) as { properties?: Readonly<Record<string, JsonSchema>>; required?: readonly string[] };
  return Object.entries(properties).map(([name, property]) => ({
    name,
    required: required.includes(name),
    text: typeof property['description'] === 'string' ? property['description'] : '',
  }));
}

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
