import { chmod, cp, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

const ARCHITECTURES: Readonly<Record<string, string>> = { arm64: 'arm64', x64: 'x86_64' };

/** `kept`: the same version of the app is there. It is not touched, because macOS ties the permissions to it. */
export type AppOutcome = 'installed' | 'kept' | 'replaced';

/** Installs the app from the launcher in the package. An app with the same `Info.plist` is kept, whatever its signature. */
export async function installApp(app: string, packageRoot: string, arch = process.arch): Promise<AppOutcome> {
  const launcher = join(packageRoot, 'launcher', ARCHITECTURES[arch] ?? arch, 'footbridge-agent');
  const info = join(packageRoot, 'launcher/Info.plist');
  const present = await readFile(join(app, 'Contents/Info.plist')).catch(() => undefined);
  if (present?.equals(await readFile(info)) === true) return 'kept';
  const fresh = `${app}.new`;
  await rm(fresh, { recursive: true, force: true });
  await mkdir(join(fresh, 'Contents/MacOS'), { recursive: true });
  await cp(info, join(fresh, 'Contents/Info.plist'));
  const copy = join(fresh, 'Contents/MacOS/footbridge-agent');
  await cp(launcher, copy);
  await chmod(copy, 0o755);
  await mkdir(dirname(app), { recursive: true });
  await rm(app, { recursive: true, force: true });
  await rename(fresh, app);
  return present === undefined ? 'installed' : 'replaced';
}
