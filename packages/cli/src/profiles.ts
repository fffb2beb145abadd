import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';

import { closestName } from '@footbridge/runtime/closest-name';
import { errorCode } from '@footbridge/runtime/error-code';

import { EXIT, CliError } from './cli-error.ts';
import type { Environment } from './io.ts';

/** A service that the user has logged in to. */
export interface Profile {
  readonly url: string;
  readonly token: string;
}

export const DEFAULT_PROFILE = 'default';
const NAME = /^[A-Za-z0-9][\w.-]{0,63}$/;

export const profilesFile = (env: Environment): string =>
  join(env['XDG_CONFIG_HOME'] || join(env['HOME'] || homedir(), '.config'), 'footbridge', 'profiles.json');

/** Throws a CliError if the file exists and cannot be read. */
export function readProfiles(env: Environment): ReadonlyMap<string, Profile> {
  const file = profilesFile(env);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return new Map();
    throw unreadable(file, error);
  }
  try {
    const entries: [string, unknown][] = Object.entries(JSON.parse(text));
    return new Map(entries.filter((entry): entry is [string, Profile] => isProfile(entry[1])));
  } catch (error) {
    throw unreadable(file, error);
  }
}

export function findProfile(name: string, env: Environment): Profile {
  const profiles = readProfiles(env);
  const profile = profiles.get(name);
  if (profile !== undefined) return profile;
  const similar = closestName(name, [...profiles.keys()]);
  throw new CliError(
    `there is no profile ${name}${similar === undefined ? '' : `; did you mean ${similar}?`}`,
    { exitCode: EXIT.configuration, next: `footbridge login ${name} --url URL` },
  );
}

/** Replaces the file atomically. Only its owner can read it, because it contains tokens. */
export function saveProfiles(env: Environment, profiles: ReadonlyMap<string, Profile>): void {
  const file = profilesFile(env);
  const written = `${file}.${process.pid}.new`;
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(written, `${JSON.stringify(Object.fromEntries(profiles), null, 2)}\n`, { mode: 0o600 });
    renameSync(written, file);
  } catch (error) {
    rmSync(written, { force: true });
    throw new CliError(`cannot write ${file}`, { exitCode: EXIT.configuration, cause: error });
  }
}

export function checkedProfileName(name: string): string {
  if (NAME.test(name)) return name;
  throw new CliError('the name of a profile may contain only letters, digits, dots and hyphens', {
    exitCode: EXIT.usage,
  });
}

const unreadable = (file: string, cause: unknown) =>
  new CliError(`cannot read the profiles in ${file}`, {
    exitCode: EXIT.configuration,
    next: 'remove or repair the file, then log in again with footbridge login',
    cause,
  });

const isProfile = (value: unknown): value is Profile =>
  typeof value === 'object' &&
  value !== null &&
  'url' in value &&
  'token' in value &&
  typeof value.url === 'string' &&
  typeof value.token === 'string';
