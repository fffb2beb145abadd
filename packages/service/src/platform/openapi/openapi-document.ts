import { crmCalls } from './crm-calls.ts';
import type { JsonSchema } from './json-schema.ts';
import { operatorPaths } from './operator-paths.ts';
import { deprecatedPaths, healthPaths, macPaths, oauthPaths } from './other-paths.ts';
import { SCHEMAS } from './schemas.ts';
import { appEventPaths, webhookPaths } from './webhook-paths.ts';

export interface OpenApiDocument {
  readonly openapi: '3.1.0';
  readonly info: JsonSchema;
  readonly servers: readonly JsonSchema[];
  readonly paths: Readonly<Record<string, JsonSchema>>;
  readonly webhooks: Readonly<Record<string, JsonSchema>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly securitySchemes: Readonly<Record<string, JsonSchema>>;
  };
}

const signature = (name: string, scheme: string): JsonSchema => ({
  type: 'apiKey',
  in: 'header',
  name,
  description: `Base64 of the ${scheme} signature over the raw body. Operators may register other header names.`,
});
const bearer = (description: string): JsonSchema => ({ type: 'http', scheme: 'bearer', description });

/** The API of the service as an OpenAPI document (V1). `url` is its public address. */
export function openApiDocument({ version, url }: { version: string; url: string }): OpenApiDocument {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Footbridge',
      version,
      description:
        'Relays messages between a CRM and the Macs that send and receive them as iMessage and SMS.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url }],
    paths: {
      ...webhookPaths(),
      ...appEventPaths(),
      ...oauthPaths(),
      ...healthPaths(),
      ...deprecatedPaths(),
      ...macPaths(),
      ...operatorPaths(),
    },
    webhooks: crmCalls(),
    components: {
      schemas: SCHEMAS,
      securitySchemes: {
        signature: signature('X-CRM-Signature', 'Ed25519'),
        legacySignature: signature('X-WH-Signature', 'RSA-SHA256'),
        deviceToken: bearer('The token of an activated Mac.'),
        operatorToken: bearer('An operator token. The calls are on the operator listener.'),
        crmToken: bearer('Access token of the location, from OAuth or a private integration.'),
      },
    },
  };
}
