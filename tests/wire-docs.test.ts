import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { FRAME_SHAPES } from '@footbridge/protocol/frames';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
const page = readFileSync(join(ROOT, 'docs/wire.md'), 'utf8');

/** The text between this heading and the next one. */
function section(heading: string): string {
  const [, after = ''] = page.split(`\n${heading}\n`);
  return after.split(/^#/m)[0] ?? '';
}

const fieldsIn = (text: string): string[] =>
  [...text.matchAll(/^\| `(\w+)` \|/gm)].map(([, field = '']) => field);

describe('docs/wire.md', () => {
  const frames = Object.entries({ ...FRAME_SHAPES.mac, ...FRAME_SHAPES.service });

  it.each(frames)('the fields of %s are those of the code', (type, { properties }) => {
    expect(fieldsIn(section(`### \`${type}\``))).toEqual(Object.keys(properties));
  });

  it('every frame on the page is one that the code knows', () => {
    const described = [...page.matchAll(/^### `(\w+)`$/gm)].map(([, type = '']) => type);
    expect(described.sort()).toEqual(frames.map(([type]) => type).sort());
  });
});
