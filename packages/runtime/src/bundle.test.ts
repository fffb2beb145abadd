import { mkdirSync, mkdtempSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { bundleOf, fileListPath } from './bundle.js';

describe('a program with a bundle', () => {
  let folder = '';
  let main = '';
  let bundle = '';
  let imported = '';

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'footbridge-bundle-'));
    main = join(folder, 'src', 'main.ts');
    imported = join(folder, 'src', 'imported.ts');
    bundle = join(folder, 'dist', 'main.js');
    for (const name of ['src', 'dist']) mkdirSync(join(folder, name));
    for (const file of [main, imported, bundle]) writeFileSync(file, 'export {};\n');
    const files = [main, imported].map((file) => {
      const { size, mtimeMs } = statSync(file);
      return [join('..', file.slice(folder.length)), size, mtimeMs];
    });
    writeFileSync(fileListPath(bundle), JSON.stringify(files));
    vi.stubEnv('NODE_V8_COVERAGE', undefined);
    vi.stubEnv('NODE_OPTIONS', undefined);
  });
  afterEach(() => {
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true });
  });

  it('runs as its bundle', () => {
    expect(bundleOf(main)).toBe(bundle);
  });

  it('runs from source when a file has another size, even with the same time', () => {
    const { atime, mtime } = statSync(imported);
    writeFileSync(imported, 'export const changed = true;\n');
    utimesSync(imported, atime, mtime);
    expect(bundleOf(main)).toBe(main);
  });

  it('runs from source when a file has another time, even an earlier one', () => {
    utimesSync(imported, 1, 1);
    expect(bundleOf(main)).toBe(main);
  });

  it('runs from source when a file was deleted', () => {
    rmSync(imported);
    expect(bundleOf(main)).toBe(main);
  });

  it('runs from source while the bundle is being written', () => {
    rmSync(fileListPath(bundle));
    expect(bundleOf(main)).toBe(main);
  });

  it('runs from source when the list of files is damaged', () => {
    for (const text of ['', '[', '{}', '[1]']) {
      writeFileSync(fileListPath(bundle), text);
      expect(bundleOf(main)).toBe(main);
    }
  });

  it.each([
    ['NODE_V8_COVERAGE', 'coverage'],
    ['NODE_OPTIONS', '--cpu-prof --cpu-prof-dir=profiles'],
  ])('runs from source with %s', (name, value) => {
    vi.stubEnv(name, value);
    expect(bundleOf(main)).toBe(main);
  });
});

it('leaves all other programs as they are', () => {
  for (const entry of ['scripts/check.ts', 'src/main.js', '-p']) expect(bundleOf(entry)).toBe(entry);
});
