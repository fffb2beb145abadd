import { chmod, cp, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import type { SystemPrograms } from '../config/system-programs.ts';
import { runProgram } from './run-program.ts';

const ARCHITECTURES: Readonly<Record<string, string>> = { arm64: 'arm64', x64: 'x86_64' };

/** `kept`: the same version is installed. The app is not touched, because macOS ties the permissions to it. */
export type AppOutcome = 'installed' | 'kept' | 'replaced';

/**
 * Installs the app from the launcher in the package. An app with the same `Info.plist` is kept, whatever its signature. So is an applet
 * of the same version.
 */
export async function installApp(app: string, packageRoot: string, arch = process.arch): Promise<AppOutcome> {
  const launcher = join(packageRoot, 'launcher', ARCHITECTURES[arch] ?? arch, 'footbridge-agent');
  const info = await readInfo(packageRoot);
  const present = await readFile(infoPath(app), 'utf8').catch(() => undefined);
  if (present === info || present === appletInfo(info)) return 'kept';
  await replaceApp(app, async (fresh) => {
    await mkdir(join(fresh, 'Contents/MacOS'), { recursive: true });
    await writeFile(infoPath(fresh), info);
    const copy = join(fresh, 'Contents/MacOS/footbridge-agent');
    await cp(launcher, copy);
    await chmod(copy, 0o755);
  });
  return present === undefined ? 'installed' : 'replaced';
}

/**
 * Replaces an app that macOS does not start with an applet: Apple's executable with our script and our
 * bundle id. Resolves with the reason when macOS cannot make one.
 */
export async function installApplet(
  app: string,
  packageRoot: string,
  { osacompile, codesign }: Pick<SystemPrograms, 'osacompile' | 'codesign'>,
): Promise<string | undefined> {
  const script = join(packageRoot, 'launcher/applet.js');
  const info = appletInfo(await readInfo(packageRoot));
  return await replaceApp(app, async (fresh) => {
    const compiled = await runProgram(osacompile, ['-l', 'JavaScript', '-o', fresh, script]);
    if (!compiled.ok) return compiled.stderr.trim();
    await writeFile(infoPath(fresh), info);
    // The signature covers Info.plist.
    const signed = await runProgram(codesign, ['--force', '--sign', '-', fresh]);
    return signed.ok ? undefined : signed.stderr.trim();
  });
}

/** Replaces the app by what `make` creates, unless `make` resolves with a problem. */
async function replaceApp<T extends string | undefined | void>(
  app: string,
  make: (fresh: string) => Promise<T>,
): Promise<T> {
  // osacompile makes an app only under a name that ends with .app.
  const fresh = app.replace(/\.app$/, '.new.app');
  await mkdir(dirname(app), { recursive: true });
  await rm(fresh, { recursive: true, force: true });
  const problem = await make(fresh);
  if (problem === undefined) {
    await rm(app, { recursive: true, force: true });
    await rename(fresh, app);
  } else await rm(fresh, { recursive: true, force: true });
  return problem;
}

const infoPath = (app: string): string => join(app, 'Contents/Info.plist');

async function readInfo(packageRoot: string): Promise<string> {
  return await readFile(join(packageRoot, 'launcher/Info.plist'), 'utf8');
}

function appletInfo(info: string): string {
  return info.replace(/(<key>CFBundleExecutable<\/key>\s*<string>)[^<]*/, '$1applet');
}
