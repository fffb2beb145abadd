import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);
const TIMEOUT_MS = 30_000;

export interface MacosVersion {
  /** For example `26.1`. */
  readonly version: string;
  /** For example `25B78`. */
  readonly build: string;
}

/** Resolves with the version of this Mac. `swVers` is the path of `sw_vers`. */
export async function readMacosVersion(swVers: string): Promise<MacosVersion> {
  const read = async (field: string): Promise<string> => {
    const { stdout } = await run(swVers, [field], { timeout: TIMEOUT_MS });
    return stdout.trim();
  };
  const [version, build] = await Promise.all([read('-productVersion'), read('-buildVersion')]);
  return { version, build };
}
