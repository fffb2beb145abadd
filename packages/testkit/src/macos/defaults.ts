import type { CommandResult } from './command-result.ts';

export type PreferenceValue =
  | string
  | number
  | boolean
  | readonly PreferenceValue[]
  | { readonly [key: string]: PreferenceValue };

const GLOBAL_DOMAIN = 'NSGlobalDomain';

/** `defaults`: the preferences of applications. */
export class Defaults {
  readonly #domains = new Map<string, Record<string, PreferenceValue>>([
    [GLOBAL_DOMAIN, { AppleLanguages: ['en-US'], AppleLocale: 'en_US' }],
  ]);

  configure(domains: Readonly<Record<string, Readonly<Record<string, PreferenceValue>>>>): void {
    for (const [domain, preferences] of Object.entries(domains)) this.#domains.set(domain, preferences);
  }

  run([first, ...others]: readonly string[]): CommandResult {
    // Preferences of this Mac alone are in domains of their own.
    if (first === '-currentHost')
      return this.run([...others.slice(0, 1), `${first} ${others[1] ?? ''}`, ...others.slice(2)]);
    return this.#run(first, others);
  }

  #run(verb: string | undefined, args: readonly string[]): CommandResult {
    const [given = '', key, ...rest] = args;
    const domain = given === '-g' || given === '-globalDomain' ? GLOBAL_DOMAIN : given;
    if (verb === 'read' && rest.length === 0) return this.#read(domain, key);
    if (verb === 'export' && key === '-' && rest.length === 0) return this.#export(domain);
    if (verb === 'write' && key !== undefined) return this.#write(domain, key, rest);
    if (verb === 'delete' && key !== undefined) return this.#delete(domain, key);
    return { stderr: 'Command line interface to a user’s defaults.\n', exitCode: 255 };
  }

  #read(domain: string, key: string | undefined): CommandResult {
    const preferences = this.#domains.get(domain);
    if (key === undefined)
      return preferences === undefined
        ? { stderr: `Domain ${domain} does not exist\n`, exitCode: 1 }
        : { stdout: `${describe(preferences)}\n` };
    const value = preferences?.[key];
    return value === undefined ? missing(domain, key) : { stdout: `${describe(value)}\n` };
  }

  /** A domain that does not exist is exported as an empty one. */
  #export(domain: string): CommandResult {
    const head =
      '<?xml version="1.0" encoding="UTF-8"?>\n' +
      '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">\n';
    const content = xml(this.#domains.get(domain) ?? {});
    return { stdout: `${head}<plist version="1.0">\n${content}\n</plist>\n` };
  }

  #write(domain: string, key: string, [type, text]: readonly string[]): CommandResult {
    const value = text === undefined ? type : typed(type, text);
    if (value === undefined) return { stderr: 'Rep argument is not valid\n', exitCode: 255 };
    this.#domains.set(domain, { ...this.#domains.get(domain), [key]: value });
    return {};
  }

  #delete(domain: string, key: string): CommandResult {
    const { [key]: value, ...others } = this.#domains.get(domain) ?? {};
    if (value === undefined) return missing(domain, key);
    this.#domains.set(domain, others);
    return {};
  }
}

function missing(domain: string, key: string): CommandResult {
  return { stderr: `The domain/default pair of (${domain}, ${key}) does not exist\n`, exitCode: 1 };
}

function typed(type: string | undefined, text: string): PreferenceValue | undefined {
  if (type === '-string') return text;
  if (type === '-int' || type === '-integer' || type === '-float') return Number(text);
  if (type === '-bool' || type === '-boolean') return /^(?:yes|true|1)$/i.test(text);
  return undefined;
}

/** The notation of `defaults read`: booleans are 1 and 0, and text is quoted inside of lists. */
function describe(value: PreferenceValue, indent = ''): string {
  if (typeof value !== 'object') return describeScalar(value);
  const inner = `${indent}    `;
  const item = (entry: PreferenceValue): string =>
    typeof entry === 'string' && !/^[A-Za-z0-9_]+$/.test(entry)
      ? JSON.stringify(entry)
      : describe(entry, inner);
  if (isList(value)) return `(\n${value.map((entry) => `${inner}${item(entry)}`).join(',\n')}\n${indent})`;
  const lines = Object.entries(value).map(([key, entry]) => `${inner}${item(key)} = ${item(entry)};\n`);
  return `{\n${lines.join('')}${indent}}`;
}

function describeScalar(value: string | number | boolean): string {
  return typeof value === 'boolean' ? (value ? '1' : '0') : String(value);
}

function xml(value: PreferenceValue): string {
  if (typeof value === 'boolean') return value ? '<true/>' : '<false/>';
  if (typeof value === 'number')
    return Number.isInteger(value) ? `<integer>${value}</integer>` : `<real>${value}</real>`;
  if (typeof value === 'string') return `<string>${escape(value)}</string>`;
  if (isList(value)) return `<array>\n${value.map((entry) => `${xml(entry)}\n`).join('')}</array>`;
  const entries = Object.entries(value).map(([key, entry]) => `<key>${escape(key)}</key>\n${xml(entry)}\n`);
  return `<dict>\n${entries.join('')}</dict>`;
}

function isList(value: object): value is readonly PreferenceValue[] {
  return Array.isArray(value);
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
