import { chmod, cp, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

const ARCHITECTURES: Readonly<Record<string, string>> = { arm64: 'arm64', x64: 'x86_64' };

/** `kept`: the same app is there. It is not touched, because macOS ties the permissions to it. */
export type AppOutcome = 'installed' | 'kept' | 'replaced';

/** Installs the app from the launcher in the package. */
export async function installApp(app: string, packageRoot: string, arch = process.arch): Promise<AppOutcome> {
  const launcher = join(packageRoot, 'launcher', ARCHITECTURES[arch] ?? arch, 'footbridge-agent');
  const executable = join(app, 'Contents/MacOS/footbridge-agent');
  const present = await readFile(executable).catch(() => undefined);
  if (present?.equals(await readFile(launcher)) === true) return 'kept';
  const fresh = `${app}.new`;
  await rm(fresh, { recursive: true, force: true });
  await mkdir(join(fresh, 'Contents/MacOS'), { recursive: true });
  await cp(join(packageRoot, 'launcher/Info.plist'), join(fresh, 'Contents/Info.plist'));
  const copy = join(fresh, 'Contents/MacOS/footbridge-agent');
  await cp(launcher, copy);
  await chmod(copy, 0o755);
  await mkdir(dirname(app), { recursive: true });
  await rm(app, { recursive: true, force: true });
  await rename(fresh, app);
  return present === undefined ? 'installed' : 'replaced';
}
