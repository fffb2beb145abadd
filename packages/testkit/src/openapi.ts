import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import formats from 'ajv-formats';
import { ROUTES } from './crm/routes.ts';
import type { Call, Route } from './crm/types.ts';

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: Content;
  readonly responses: Record<string, Content>;
}

interface Content {
  readonly content?: Record<string, { readonly schema: { readonly $ref: string } }>;
}

interface Document {
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly schemas: Record<string, Record<string, unknown>> };
}

const FILES = [
  'apps/oauth.json',
  'apps/contacts.json',
  'apps/conversations.json',
  'common/common-schemas.json',
];

const ajv = new Ajv({ strict: false, allErrors: true });
formats.default(ajv);
const documents = FILES.map((file) => {
  const document: Document = JSON.parse(readFileSync(new URL(`../openapi/${file}`, import.meta.url), 'utf8'));
  correct(document);
  ajv.addSchema(document, idOf(file));
  return { file, document };
});

/** Validates the query and body of a recorded call against HighLevel's OpenAPI documents. Undocumented fields are problems. */
export function requestProblems(call: Call): string[] {
  if (call.route === undefined) return [`${call.method} ${call.path}: no documented operation`];
  const { file, operation } = documented(call.route);
  return [
    ...queryProblems(call, operation),
    ...problems(`request of ${call.route}`, file, operation.requestBody, call.body),
  ];
}

function queryProblems({ route, query }: Call, { parameters = [] }: Operation): string[] {
  const known = new Set(parameters.filter(({ in: place }) => place === 'query').map(({ name }) => name));
  return Object.keys(query)
    .filter((name) => !known.has(name))
    .map((name) => `request of ${route}: query has an undocumented ${name}`);
}

/** Validates a response against the documents. A 201 is checked against the documented 200 if there is no 201. */
export function responseProblems(route: Route, status: number, body: unknown): string[] {
  const { file, operation } = documented(route);
  const response = operation.responses[status] ?? (status === 201 ? operation.responses['200'] : undefined);
  if (!response) return [`${route}: no documented response ${status}`];
  return problems(`${status} of ${route}`, file, response, body);
}

function problems(what: string, file: string, content: Content | undefined, body: unknown): string[] {
  const ref = Object.values(content?.content ?? {})[0]?.schema.$ref;
  if (ref === undefined) return [];
  const validate = ajv.compile({ $ref: new URL(ref, idOf(file)).href });
  if (validate(body)) return [];
  return (validate.errors ?? []).map(
    (error) => `${what}: ${error.instancePath || 'body'} ${error.message} ${JSON.stringify(error.params)}`,
  );
}

function documented(route: Route) {
  const entry = ROUTES.find(({ name }) => name === route);
  const path = entry?.path.replaceAll(/:(\w+)/g, '{$1}') ?? '';
  for (const { file, document } of documents) {
    const operation = document.paths?.[path]?.[entry?.method.toLowerCase() ?? ''];
    if (operation) return { file, operation };
  }
  throw new Error(`The OpenAPI documents do not contain the route ${route}.`);
}

/** Adapts the documents where they contradict the known behaviour of the CRM. */
function correct({ components: { schemas } }: Document): void {
  for (const name of [
    'ProcessMessageBodyDto',
    'UpdateMessageStatusDto',
    'CreateContactDto',
    'UpsertContactDto',
  ]) {
    if (schemas[name]) schemas[name]['additionalProperties'] = false;
  }
  const inbound = schemas['ProcessMessageBodyDto'];
  if (inbound) {
    // The guide requires one of conversationId and contactId, and a provider id only for added channels.
    inbound['required'] = ['type'];
    // `direction` is documented as an object with strings as examples. `locationId` is undocumented but accepted.
    Object.assign(inbound['properties'] ?? {}, {
      direction: { enum: ['inbound', 'outbound'] },
      locationId: { type: 'string' },
    });
  }
  // HighLevel wraps the list of messages into an object of the same name.
  const list = schemas['GetMessagesByConversationResponseDto'];
  if (list)
    schemas['GetMessagesByConversationResponseDto'] = {
      type: 'object',
      properties: { messages: list },
      required: ['messages'],
    };
  // HighLevel neither requires attachmentUrls in the request nor returns them for uploaded files.
  if (schemas['UploadFilesDto']) schemas['UploadFilesDto']['required'] = ['locationId'];
}

function idOf(file: string): string {
  return `https://crm.test/${file}`;
}
