import process from 'node:process';
import { parseArgs } from 'node:util';

/** Reads the options of a program, which are all numbers: `--name N`. */
export function numberOptions<Name extends string>(
  defaults: Readonly<Record<Name, number>>,
  args: string[] = process.argv.slice(2),
): Record<Name, number> {
  const { values } = parseArgs({
    args,
    options: Object.fromEntries(Object.keys(defaults).map((name) => [name, { type: 'string' as const }])),
  });
  const result: Record<Name, number> = { ...defaults };
  for (const name in defaults) result[name] = Number(values[name] ?? defaults[name]);
  return result;
}
