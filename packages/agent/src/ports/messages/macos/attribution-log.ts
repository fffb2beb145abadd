import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import type { Clock } from '@footbridge/runtime/clock';

import type { Attribution } from '../messages-shape.ts';

const run = promisify(execFile);
/** The log of a Mac is large, so reading it takes seconds. */
const LIMITS = { timeout: 30_000, killSignal: 'SIGKILL', maxBuffer: 1024 * 1024 } as const;
/** The line may be written later than the permission is used. */
const ATTEMPTS = 3;
const PAUSE_MS = 2_000;
/** macOS checks the responsible program, or the program itself if there is none. */
const JUDGED =
  /(?:responsible|accessing)=\{TCCDProcess: identifier=([^,}]+),[^}]*?(?:responsible_path|binary_path)=([^,}]+)/;
const IN_APP = /\/Footbridge Agent\.app\/Contents\//;
/** An identifier that is a path could contain the name of the owner. */
const IDENTIFIER = /^[A-Za-z][A-Za-z0-9._-]{0,79}$/;

/**
 * Looks in the log of macOS for the program whose permissions macOS checked for a process. `log` is the path of the program that reads the
 * log. Resolves with undefined when the log has no such line, or when the owner may not read the log.
 */
export async function readAttribution(
  pid: number,
  log: string,
  clock: Clock,
): Promise<Attribution | undefined> {
  const predicate = `subsystem == "com.apple.TCC" AND eventMessage CONTAINS "AUTHREQ_ATTRIBUTION" AND eventMessage CONTAINS "pid=${pid},"`;
  const args = ['show', '--last', '2m', '--info', '--debug', '--style', 'compact', '--predicate', predicate];
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    if (attempt > 1) await clock.sleep(PAUSE_MS);
    const output = await run(log, args, LIMITS).catch(() => undefined);
    if (output === undefined) return undefined;
    const [, identifier, path] = JUDGED.exec(output.stdout) ?? [];
    if (identifier !== undefined && path !== undefined)
      return { program: IDENTIFIER.test(identifier) ? identifier : 'other', isApp: IN_APP.test(path) };
  }
  return undefined;
}
