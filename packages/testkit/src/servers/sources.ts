/** A source of a program. */
export interface Source<T> {
  readonly name: string;
  /** Resolves to undefined when this source does not have the program. */
  find(): Promise<T | undefined>;
}

/**
 * Returns the first program that passes its check, and reports it in one line, with the version that the check may
 * resolve to. Throws one line with every source and what is wrong with it when no program passes.
 */
export async function firstThatWorks<T extends { readonly path: string }>(
  name: string,
  sources: readonly Source<T>[],
  check: (program: T) => Promise<string | void>,
  report: (line: string) => void = (line) => process.stderr.write(`${line}\n`),
): Promise<T> {
  const absent: string[] = [];
  const broken: string[] = [];
  for (const source of sources) {
    let place = source.name;
    try {
      const program = await source.find();
      if (program === undefined) {
        absent.push(`${place} has none`);
        continue;
      }
      place += `, ${program.path}`;
      const version = await check(program);
      const passedOver = broken.map((fault) => `; not ${fault}`).join('');
      report(`using ${[name, version].filter(Boolean).join(' ')} from ${place}${passedOver}`);
      return program;
    } catch (error) {
      broken.push(`${place}: ${firstLine(error)}`);
    }
  }
  throw new Error([...broken, ...absent].join('; '));
}

function firstLine(error: unknown): string {
  const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
  return line.replace(/\.$/, '');
}
