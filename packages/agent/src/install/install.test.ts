import { mkdirSync, readFileSync, readlinkSync, realpathSync, statSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { afterEach, describe, expect, it } from 'vitest';

import { installApp } from './app-bundle.ts';
import { BUNDLE_ID, layoutOf } from './layout.ts';
import { installVersion } from './versions.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

const LAUNCHER = new URL('../../../mac-launcher/', import.meta.url);

/** Writes the files of an installed npm package that the installation reads. */
async function makePackage(info = 'version 1'): Promise<string> {
  const root = await tempDir(cleanup);
  for (const arch of ['arm64', 'x86_64']) {
    mkdirSync(join(root, 'launcher', arch), { recursive: true });
    writeFileSync(join(root, 'launcher', arch, 'footbridge-agent'), `${arch} of ${info}`);
  }
  writeFileSync(join(root, 'launcher/Info.plist'), info);
  writeFileSync(join(root, 'package.json'), '{}');
  writeFileSync(join(root, 'agent.mjs'), info);
  return root;
}

describe('the app', () => {
  it('is the launcher for the architecture of the Mac', async () => {
    const app = join(await tempDir(cleanup), 'Applications/Footbridge Agent.app');
    expect(await installApp(app, await makePackage(), 'x64')).toBe('installed');
    const executable = join(app, 'Contents/MacOS/footbridge-agent');
    expect(readFileSync(executable, 'utf8')).toBe('x86_64 of version 1');
    expect(statSync(executable).mode & 0o777).toBe(0o755);
    expect(await readdir(join(app, '..'))).toEqual(['Footbridge Agent.app']);
  });

  it('is kept when its version is the same, with any signature, and replaced otherwise', async () => {
    const app = join(await tempDir(cleanup), 'Footbridge Agent.app');
    await installApp(app, await makePackage(), 'arm64');
    const executable = join(app, 'Contents/MacOS/footbridge-agent');
    writeFileSync(executable, 'signed with a Developer ID');
    expect(await installApp(app, await makePackage(), 'arm64')).toBe('kept');
    expect(readFileSync(executable, 'utf8')).toBe('signed with a Developer ID');
    expect(await installApp(app, await makePackage('version 2'), 'arm64')).toBe('replaced');
    expect(readFileSync(executable, 'utf8')).toBe('arm64 of version 2');
  });

  it('has the same bundle id everywhere', () => {
    const files = ['src/Info.plist', 'distribution/distribution.xml', 'distribution/footbridge-agent.rb'];
    for (const file of [...files, 'distribution/build-package.sh'])
      expect(readFileSync(new URL(file, LAUNCHER), 'utf8')).toContain(BUNDLE_ID);
    const launcher = readFileSync(new URL('src/launcher.c', LAUNCHER), 'utf8');
    expect(launcher).toContain(`"${layoutOf('/').current}"`);
  });
});

describe('versions', () => {
  it('are removed, except the current one and the one before it', async () => {
    const layout = layoutOf(await tempDir(cleanup));
    const root = await makePackage();
    for (const version of ['1.0.0', '1.1.0', '2.0.0']) await installVersion(layout, root, version);
    expect(await readdir(layout.versions)).toEqual(['1.1.0', '2.0.0']);
    expect(readlinkSync(layout.current)).toBe(join(layout.versions, '2.0.0'));
    expect(realpathSync(join(layout.current, 'node'))).toBe(realpathSync(process.execPath));
  });

  it('replace their files when the same version is installed again', async () => {
    const layout = layoutOf(await tempDir(cleanup));
    await installVersion(layout, await makePackage('broken'), '1.0.0');
    await installVersion(layout, await makePackage('repaired'), '1.0.0');
    expect(readFileSync(join(layout.current, 'agent.mjs'), 'utf8')).toBe('repaired');
    expect(await readdir(layout.versions)).toEqual(['1.0.0']);
  });
});
