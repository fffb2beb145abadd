import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { EXIT, CliError } from './cli-error.ts';
import type { Environment } from './io.ts';
import { DEFAULT_PROFILE, findProfile, readProfiles } from './profiles.ts';
import type { Profile } from './profiles.ts';
import { isToken } from './read-secret.ts';

/** The service that a command talks to. The settings are those of the service itself, from the environment or its `.env`. */
export interface ServiceTarget {
  readonly url: string;
  /** Where the URL comes from, for people. */
  readonly urlFrom: string;
  /** Where the operator token comes from, for people. */
  readonly tokenFrom: string;
  /** Throws a CliError if the token cannot be read. */
  readonly token: () => string;
}

export interface TargetOptions {
  readonly url?: string | undefined;
  readonly tokenFile?: string | undefined;
  readonly profile?: string | undefined;
}

const DEFAULT_HOST = '127.0.0.1';
const DEFAULT_PORT = '4610';
const DEFAULT_DATA_DIR = './data';
/** Settings that name a service or its token. Any of them takes precedence over the profile `default`. */
const NAMING = [
  'FOOTBRIDGE_OPERATOR_URL',
  'ADMIN_HOST',
  'ADMIN_PORT',
  'OPERATOR_TOKEN',
  'OPERATOR_TOKEN_FILE',
  'DATA_DIR',
];

/** Reads `.env` of the current folder like the service: variables that are already set win. */
export function loadEnvFile(): void {
  try {
    process.loadEnvFile();
  } catch {
    // The file .env is optional.
  }
}

export function serviceTarget(options: TargetOptions, env: Environment): ServiceTarget {
  const profile = profileOf(options, env);
  const url = profile === undefined ? urlOf(options.url, env) : ofProfile(profile, options.url);
  if (profile !== undefined && options.tokenFile === undefined)
    return { ...url, token: () => profile.token, tokenFrom: profile.from };
  return { ...url, ...tokenOf(options.tokenFile, env) };
}

export const describeTarget = ({ url, urlFrom, tokenFrom }: ServiceTarget): string =>
  `service ${url} (${urlFrom}), token from ${tokenFrom}`;

function checkedUrl(url: string, from: string): string {
  if (/^https?:\/\//.test(url) && URL.canParse(url)) return url.replace(/\/+$/, '');
  throw new CliError(`${from} does not give a valid http address: ${url}`, {
    exitCode: EXIT.configuration,
    next: `the default is http://${DEFAULT_HOST}:${DEFAULT_PORT}`,
  });
}

type NamedProfile = Profile & { readonly from: string };

/** Returns the profile to use: the named one, or `default` when nothing else names a service. */
function profileOf({ profile, url }: TargetOptions, env: Environment): NamedProfile | undefined {
  const named = profile ?? (env['FOOTBRIDGE_PROFILE'] || undefined);
  if (named !== undefined) return { ...findProfile(named, env), from: `the profile ${named}` };
  if (url !== undefined || NAMING.some((name) => env[name]) || existsSync(tokenFile(env))) return undefined;
  const found = readProfiles(env).get(DEFAULT_PROFILE);
  return found && { ...found, from: `the profile ${DEFAULT_PROFILE}` };
}

const ofProfile = ({ url, from }: NamedProfile, option: string | undefined) =>
  option === undefined
    ? { url: checkedUrl(url, from), urlFrom: from }
    : { url: checkedUrl(option, '--url'), urlFrom: '--url' };

function urlOf(option: string | undefined, env: Environment): Pick<ServiceTarget, 'url' | 'urlFrom'> {
  if (option !== undefined) return { url: checkedUrl(option, '--url'), urlFrom: '--url' };
  const { FOOTBRIDGE_OPERATOR_URL: named, ADMIN_HOST: host, ADMIN_PORT: port } = env;
  if (named) return { url: checkedUrl(named, 'FOOTBRIDGE_OPERATOR_URL'), urlFrom: 'FOOTBRIDGE_OPERATOR_URL' };
  if (port === '0')
    throw new CliError('ADMIN_PORT is 0, so the port of the service is not known', {
      exitCode: EXIT.configuration,
      next: 'pass --url with the operatorUrl of the log line "ready"',
    });
  const settings = [host && 'ADMIN_HOST', port && 'ADMIN_PORT'].filter(Boolean).join(' and ');
  return {
    url: checkedUrl(`http://${reachable(host || DEFAULT_HOST)}:${port || DEFAULT_PORT}`, settings),
    urlFrom: settings === '' ? 'the default' : settings,
  };
}

/** A listener on all addresses is reached by the loopback address. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return DEFAULT_HOST;
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

const tokenFile = ({ OPERATOR_TOKEN_FILE: named, DATA_DIR: dataDir }: Environment): string =>
  named || join(dataDir || DEFAULT_DATA_DIR, 'operator-token');

/** A command-line option would expose the token in the process list, so it comes from a file or the environment. */
function tokenOf(option: string | undefined, env: Environment): Pick<ServiceTarget, 'token' | 'tokenFrom'> {
  const { OPERATOR_TOKEN: given } = env;
  if (option === undefined && given) return { token: () => given, tokenFrom: 'OPERATOR_TOKEN' };
  const file = option ?? tokenFile(env);
  return { token: () => readToken(file), tokenFrom: file };
}

function readToken(file: string): string {
  let token: string;
  try {
    token = readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new CliError(`cannot read the operator token from ${file}`, {
      exitCode: EXIT.configuration,
      next: 'run this in the folder of the service, which has .env and the data folder, or log in with footbridge login, or pass --token-file',
      cause: error,
    });
  }
  if (isToken(token)) return token;
  throw new CliError(`${file} does not contain an operator token`, {
    exitCode: EXIT.configuration,
    next: 'pass the file that the service created: operator-token in its data folder',
  });
}
