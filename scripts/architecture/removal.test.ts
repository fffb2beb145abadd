import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { composeWithout, featuresOf, importsOfFeatures, readCompose, typeErrors } from './removal.ts';

const ROOT = join(import.meta.dirname, '../..');
const FEATURES = featuresOf(ROOT);
const COMPOSE = readCompose(ROOT);
const LONG = { timeout: 120_000 };

describe('every feature can be removed', () => {
  it('its folder is imported only by the composition root and the list of settings', () => {
    expect(FEATURES.length).toBeGreaterThan(10);
    expect(importsOfFeatures(ROOT)).toEqual([]);
  });

  it(
    'the composition root compiles without its import and its start, unless it uses the feature',
    LONG,
    async () => {
      const composes = FEATURES.map((feature) => [feature, composeWithout(COMPOSE, [feature])] as const);
      const broken = `${composeWithout(COMPOSE, ['capture'])}export const used = capture.name;\n`;
      expect(await typeErrors(ROOT, { ...Object.fromEntries(composes), broken })).toEqual([
        expect.stringMatching(/^broken\.ts.*Cannot find name 'capture'/),
      ]);
    },
  );

  it('the rest of the service compiles without its files, unless it uses a table of them', LONG, async () => {
    const rest = composeWithout(COMPOSE, FEATURES);
    const broken = `import type { Schema } from './platform/sql/schema.ts';\nexport type Row = Schema['captures'];\n`;
    expect(await typeErrors(ROOT, { rest, broken }, FEATURES)).toEqual([
      expect.stringMatching(/^broken\.ts.*Property 'captures' does not exist/),
    ]);
  });
});

describe('what keeps a feature from being removed is reported', () => {
  let scratch: string;

  beforeEach(() => {
    scratch = mkdtempSync(join(tmpdir(), 'footbridge-removal-'));
  });
  afterEach(() => rmSync(scratch, { recursive: true, force: true }));

  it.each([
    ['a room', 'relay/webhook/room.ts', '../../features/reach/ask-reach.ts'],
    ['a test of a room', 'relay/webhook/room.test.ts', '../../features/reach/ask-reach.ts'],
    ['another feature', 'features/capture/feature.ts', '../reach/settings.ts'],
    ['the list of settings, by another file', 'config.ts', './features/reach/ask-reach.ts'],
    ['the composition root, by another file', 'compose.ts', './features/reach/ask-reach.ts'],
    ['its settings, which stay', 'features/reach/settings.ts', './ask-reach.ts'],
  ])('%s', (_title, file, target) => {
    const path = join(scratch, 'packages/service/src', file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `import { x } from '${target}';\nexport const y = x;\n`);
    expect(importsOfFeatures(scratch)).toEqual([expect.stringMatching(`^${file} → features/reach/`)]);
  });

  it('a start that is missing in the composition root', () => {
    expect(() => composeWithout("import { reach } from './features/reach/feature.ts';\n", ['reach'])).toThrow(
      'await its start',
    );
  });
});
