import { InvalidArgumentError, Option } from 'commander';

/** Parsers of option values. Commander reports what they throw as a usage error that names the option. */

export const wholeNumber = (minimum: number, maximum: number) => (text: string) => {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= minimum && value <= maximum) return value;
  throw new InvalidArgumentError(`It must be a whole number from ${minimum} to ${maximum}.`);
};

export function seconds(text: string): number {
  const value = Number(text);
  if (value > 0 && value <= 3600) return value;
  throw new InvalidArgumentError('It must be a number of seconds, at most 3600.');
}

const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Returns the milliseconds of a duration such as `10m`. */
export function duration(text: string): number {
  const [, number, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (number !== undefined) return Number(number) * (UNITS[unit] ?? 0);
  throw new InvalidArgumentError('It must be a duration such as 30s, 10m, 2h or 1d.');
}

export function httpUrl(text: string): string {
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return text.replace(/\/+$/, '');
  throw new InvalidArgumentError('It must be an address such as http://127.0.0.1:4610.');
}

export function phoneNumber(text: string): string {
  const number = text.replaceAll(/[\s().-]/g, '');
  if (/^\+\d{7,15}$/.test(number)) return number;
  throw new InvalidArgumentError('It must be a number with its country code, such as +14155550100.');
}

export const collect = (value: string, before: readonly string[] = []): string[] => [...before, value];

export const directionOption = (): Option =>
  new Option('--dir <direction>', 'only inbound (from Macs) or outbound (to Macs) messages').choices([
    'in',
    'out',
  ]);
