import { expect, it } from 'vitest';

import { sbomFaults } from './sbom.ts';

const component = (name: string, type = 'library') => ({
  'bom-ref': `${name}@1.0.0`,
  type,
  name,
  version: '1.0.0',
  purl: `pkg:npm/${name}@1.0.0`,
});
const GOOD = {
  bomFormat: 'CycloneDX',
  specVersion: '1.5',
  serialNumber: 'urn:uuid:3e671687-395b-41f5-a30f-a58921a69b79',
  version: 1,
  metadata: {
    timestamp: '2026-01-01T00:00:00Z',
    tools: [],
    component: component('footbridge', 'application'),
  },
  components: [component('pg')],
  dependencies: [{ ref: 'footbridge@1.0.0', dependsOn: ['pg@1.0.0'] }, { ref: 'pg@1.0.0' }],
};

it('accepts a complete document', () => {
  expect(sbomFaults(GOOD)).toEqual([]);
});

it.each([
  [{ ...GOOD, bomFormat: 'SPDX' }, '/bomFormat must be equal to constant'],
  [{ ...GOOD, serialNumber: '1' }, expect.stringContaining('/serialNumber must match pattern')],
  [
    { ...GOOD, components: [{ name: 'pg' }] },
    expect.stringContaining("must have required property 'bom-ref'"),
  ],
  [{ ...GOOD, dependencies: [{ ref: 'nowhere@1' }] }, 'nowhere@1 is referenced, but is not a component'],
])('reports a fault (%#)', (document, fault) => {
  expect(sbomFaults(document)).toContainEqual(fault);
});
