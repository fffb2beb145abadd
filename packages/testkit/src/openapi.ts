import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import formats from 'ajv-formats';
import { ROUTES } from './crm/routes.ts';
import type { Call, Route } from './crm/shapes.ts';

interface Content {
  readonly content?: Record<string, { readonly schema: { readonly $ref: string } }>;
}

interface Document {
  readonly paths: Record<
    string,
    Record<string, { requestBody?: Content; responses: Record<string, Content> }>
  >;
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

/** What the CRM's own document has against the body of a recorded call. Fields it does not know count. */
export function requestProblems(call: Call): string[] {
  if (call.route === undefined) return [`${call.method} ${call.path}: no documented operation`];
  const { file, operation } = documented(call.route);
  return problems(`request of ${call.route}`, file, operation.requestBody, call.body);
}

/** What the document has against an answer; a 201 is held against the 200 where only that is documented. */
export function answerProblems(route: Route, status: number, body: unknown): string[] {
  const { file, operation } = documented(route);
  const answer = operation.responses[status] ?? (status === 201 ? operation.responses['200'] : undefined);
  if (!answer) return [`${route}: no documented answer ${status}`];
  return problems(`${status} of ${route}`, file, answer, body);
}

function problems(what: string, file: string, described: Content | undefined, body: unknown): string[] {
  const ref = Object.values(described?.content ?? {})[0]?.schema.$ref;
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
  throw new Error(`The OpenAPI documents lack the route ${route}.`);
}

/** Where the document contradicts what the CRM is known to do, the CRM is right. */
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
    // The guide asks for one of conversationId and contactId, and for a provider id on added channels only.
    inbound['required'] = ['type'];
    // `direction` is given as an object with strings as examples; `locationId` is sent by many and passes.
    Object.assign(inbound['properties'] ?? {}, {
      direction: { enum: ['inbound', 'outbound'] },
      locationId: { type: 'string' },
    });
  }
  // The live answer to an upload of files has no attachmentUrls, nor does the request need them.
  if (schemas['UploadFilesDto']) schemas['UploadFilesDto']['required'] = ['locationId'];
}

function idOf(file: string): string {
  return `https://crm.test/${file}`;
}
