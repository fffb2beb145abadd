import { readRegularFile } from './regular-file.ts';

/** One setting of a program. A program declares all of its settings in one table, by the name that its code uses. */
export interface Setting<T = unknown> {
  /** The environment variable. */
  readonly name: string;
  /** A second environment variable, read first. */
  readonly alias?: string;
  /** The option of the command line, in commander's syntax. */
  readonly flag?: string;
  /** What it is for, for help texts and documents. */
  readonly about: string;
  /** The default, as it would be written in the environment. */
  readonly fallback?: string | undefined;
  /** The value must not be shown. */
  readonly secret?: boolean;
  /** `NAME_FILE` may name a file that contains the value. */
  readonly fromFile?: boolean;
  /** Throws a SettingError when the text is wrong. */
  readonly parse: (text: string) => T;
}

/** Thrown by a parser. The message completes the sentence "NAME …" and does not quote the value. */
export class SettingError extends Error {}

type ValueOf<S> = S extends Setting<infer T> ? T : never;

/** The values of a table. A setting without a default may be undefined. */
export type Settings<Table> = {
  readonly [Name in keyof Table]: Table[Name] extends { readonly fallback: string }
    ? ValueOf<Table[Name]>
    : ValueOf<Table[Name]> | undefined;
};

type Origin = 'flag' | 'set' | 'file' | 'default' | 'unset';

export interface ReadSettings<Table> {
  /** Undefined when there are problems. */
  readonly settings: Settings<Table> | undefined;
  /** Without the settings that are wrong. */
  readonly valid: Partial<Settings<Table>>;
  /** Where each value comes from, by environment variable. */
  readonly origins: ReadonlyMap<string, Origin>;
  /** One line per wrong setting, by name. */
  readonly problems: readonly string[];
}

export type Environment = Readonly<Record<string, string | undefined>>;
export type Flags = Readonly<Record<string, unknown>>;

/** Reads every setting of the table: its flag, else its variable, else its default. Reports all problems at once. */
export function readSettings<Table extends Readonly<Record<string, Setting>>>(
  table: Table,
  env: Environment,
  flags: Flags = {},
): ReadSettings<Table> {
  const problems: string[] = [];
  const origins = new Map<string, Origin>();
  const values: Record<string, unknown> = {};
  for (const [key, setting] of Object.entries(table)) {
    const { origin, text } = find(setting, env, flags[key], problems);
    origins.set(setting.name, origin);
    if (text !== undefined) values[key] = parse(setting, text, problems);
  }
  const valid = values as Partial<Settings<Table>>;
  return { settings: problems.length > 0 ? undefined : (valid as Settings<Table>), valid, origins, problems };
}

/** The name of a setting in a message. */
export function nameOf({ flag, name }: Setting): string {
  return flag === undefined ? name : `${flag.split(' ')[0]} (${name})`;
}

function find(
  setting: Setting,
  env: Environment,
  flag: unknown,
  problems: string[],
): { origin: Origin; text: string | undefined } {
  // Commander passes `true` for a flag without a value.
  if (typeof flag === 'string' || typeof flag === 'boolean') return { origin: 'flag', text: String(flag) };
  const text = (setting.alias && env[setting.alias]) || env[setting.name];
  // An empty variable counts as not set.
  if (text) return { origin: 'set', text };
  const file = setting.fromFile === true && env[`${setting.name}_FILE`];
  if (file) {
    try {
      return { origin: 'file', text: readRegularFile(file).trim() };
    } catch {
      problems.push(
        `${setting.name}_FILE names a file that cannot be read; check that it is a regular file, its path and its permissions`,
      );
    }
  }
  return { origin: setting.fallback === undefined ? 'unset' : 'default', text: setting.fallback };
}

function parse(setting: Setting, text: string, problems: string[]): unknown {
  try {
    return setting.parse(text);
  } catch (error) {
    if (!(error instanceof SettingError)) throw error;
    problems.push(`${nameOf(setting)} ${error.message}`);
    return undefined;
  }
}
