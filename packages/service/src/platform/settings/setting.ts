import type { Setting as DeclaredSetting, Settings } from '@footbridge/runtime/settings';

/** The chapters of the documents, in order. */
export const CHAPTERS = [
  'Listeners',
  'Storage',
  'CRM',
  'OAuth',
  'Limits',
  'Macs',
  'Assets',
  'Alerts',
  'Telemetry',
  'Process',
] as const;

/** One setting of the service. Each part declares its own in a table, `settings.ts`; `config.ts` merges the tables. */
export interface Setting<T = unknown> extends DeclaredSetting<T>, Marks {
  readonly chapter: (typeof CHAPTERS)[number];
}

interface Marks {
  /** The value must not be shown. */
  readonly secret?: boolean;
  /** An https: address, because tokens and texts are sent to it; or a secret that must not be guessable. */
  readonly mustBe?: 'https' | 'random';
  /** Read in both cases, by convention; lower case takes precedence. */
  readonly eitherCase?: boolean;
}

export type Table = Readonly<Record<string, Setting>>;

/** The values of a table. A setting without a default may be undefined. */
export type ValuesOf<T extends Table> = Settings<T>;

/** What a part finds in the values of its settings: what one excludes or requires of another. */
export interface Findings {
  /** The service does not start. */
  readonly problems?: readonly string[];
  readonly warnings?: readonly string[];
}

/** What is known of the settings besides their values. */
export interface Given {
  /** The names of the settings that are set. */
  readonly present: readonly string[];
  /** No setting is wrong by itself. */
  readonly isValid: boolean;
}

export const SECRET = { secret: true } as const;

/** Returns the function that declares settings of a chapter. A default is written as it would be in the environment. */
export const settingIn =
  (chapter: Setting['chapter']) =>
  <T, const F extends string | undefined>(
    name: string,
    fallback: F,
    parse: (value: string) => T,
    about: string,
    marks: Marks = {},
  ): Setting<T> & { readonly fallback: F } => ({
    name,
    chapter,
    about,
    fallback,
    fromFile: marks.secret === true || name.endsWith('PUBLIC_KEY'),
    ...(marks.eitherCase === true && { alias: name.toLowerCase() }),
    ...marks,
    parse,
  });

/** Returns a warning when settings are present that have no effect. */
export function without(what: string, { present }: Given, names: RegExp): string[] {
  const unused = present.filter((name) => names.test(name));
  const have = unused.length === 1 ? 'has' : 'have';
  return unused.length === 0 ? [] : [`${unused.join(', ')} ${have} no effect without ${what}`];
}
