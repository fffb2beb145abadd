import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';

/** The parts of CycloneDX 1.5 that consumers of a bill of materials rely on. The whole schema allows much more. */
const SHAPE = {
  type: 'object',
  required: ['bomFormat', 'specVersion', 'serialNumber', 'version', 'metadata', 'components', 'dependencies'],
  properties: {
    bomFormat: { const: 'CycloneDX' },
    specVersion: { enum: ['1.5', '1.6'] },
    serialNumber: { type: 'string', pattern: '^urn:uuid:[0-9a-f-]{36}$' },
    version: { type: 'integer', minimum: 1 },
    metadata: {
      type: 'object',
      required: ['timestamp', 'tools', 'component'],
      properties: {
        timestamp: { type: 'string', format: 'date-time' },
        component: { $ref: '#/definitions/component' },
      },
    },
    components: { type: 'array', items: { $ref: '#/definitions/component' } },
    dependencies: {
      type: 'array',
      items: {
        type: 'object',
        required: ['ref'],
        properties: {
          ref: { type: 'string', minLength: 1 },
          dependsOn: { type: 'array', uniqueItems: true, items: { type: 'string', minLength: 1 } },
        },
      },
    },
  },
  definitions: {
    component: {
      type: 'object',
      required: ['bom-ref', 'type', 'name', 'version', 'purl'],
      properties: {
        'bom-ref': { type: 'string', minLength: 1 },
        type: { enum: ['application', 'library'] },
        name: { type: 'string', minLength: 1 },
        version: { type: 'string', minLength: 1 },
        purl: { type: 'string', pattern: '^pkg:npm/' },
        licenses: { type: 'array', items: { type: 'object' } },
      },
    },
  },
};

interface Sbom {
  readonly components: readonly { readonly 'bom-ref': string }[];
  readonly metadata: { readonly component: { readonly 'bom-ref': string } };
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn?: readonly string[] }[];
}

const validate = addFormats.default(new Ajv({ allErrors: true })).compile<Sbom>(SHAPE);

/** Returns one line for each fault of a CycloneDX document: schema violations, and references to missing components. */
export function sbomFaults(document: unknown): string[] {
  if (!validate(document))
    return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath || '/'} ${message}`);
  const { components, metadata, dependencies } = document;
  const known = new Set([metadata.component, ...components].map((component) => component['bom-ref']));
  return dependencies
    .flatMap(({ ref, dependsOn = [] }) => [ref, ...dependsOn])
    .filter((ref) => !known.has(ref))
    .map((ref) => `${ref} is referenced, but is not a component`);
}
