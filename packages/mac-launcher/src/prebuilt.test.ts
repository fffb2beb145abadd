import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { readMachO } from './mach-o.ts';

const PACKAGE = join(import.meta.dirname, '..');
const MAX_BYTES = 64 * 1024;

const launcher = (architecture: string) =>
  readFileSync(join(PACKAGE, 'prebuilt', architecture, 'footbridge-agent'));

describe.each(['arm64', 'x86_64'])('the launcher for %s', (architecture) => {
  it('is a small executable for macOS 13.5 that loads only libSystem', () => {
    const file = launcher(architecture);
    expect(file.length).toBeLessThanOrEqual(MAX_BYTES);
    expect(readMachO(file)).toMatchObject({
      architecture,
      minimumMacos: '13.5',
      libraries: ['/usr/lib/libSystem.B.dylib'],
    });
  });

  it('has an ad-hoc signature whose page hashes are all right', () => {
    const { signature } = readMachO(launcher(architecture));
    expect(signature).toMatchObject({ identifier: 'footbridge-agent', changedPages: [] });
    expect(signature.pages).toBeGreaterThan(0);
  });

  it('does not verify after one of its bytes was changed', () => {
    const file = Buffer.from(launcher(architecture));
    const at = file.indexOf('Footbridge Agent:');
    file.writeUInt8(file.readUInt8(at) ^ 1, at);
    expect(readMachO(file).signature.changedPages).toHaveLength(1);
  });
});

describe('SHA256SUMS', () => {
  it('has the hashes of the programs and of the sources that they were built from', () => {
    const sums = readFileSync(join(PACKAGE, 'prebuilt/SHA256SUMS'), 'utf8').trim().split('\n');
    expect(sums).toHaveLength(4);
    for (const line of sums) {
      const [hash, file = ''] = line.split('  ');
      const found = createHash('sha256')
        .update(readFileSync(join(PACKAGE, file)))
        .digest('hex');
      expect(`${found} ${file}`, 'run npm run launcher').toBe(`${hash} ${file}`);
    }
  });
});

describe('readMachO', () => {
  it('rejects files that are not programs for macOS', () => {
    expect(() => readMachO(Buffer.from('#!/bin/sh'))).toThrow('not a 64-bit Mach-O executable');
    expect(() => readMachO(readFileSync(process.execPath).subarray(0, 4096))).toThrow('not a 64-bit Mach-O');
  });
});
