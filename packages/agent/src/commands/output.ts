/** What a command tells: to a person in words, to a program as JSON. */
export interface Output {
  result(data: object, words: string): void;
  problem(words: string, code?: string): void;
}

export function createOutput(
  json: boolean,
  out: { write(text: string): unknown } = process.stdout,
  err: { write(text: string): unknown } = process.stderr,
): Output {
  return {
    result: (data, words) => out.write(`${json ? JSON.stringify(data) : words}\n`),
    problem: (words, code) =>
      err.write(
        `${json ? JSON.stringify({ error: words, ...(code === undefined ? {} : { code }) }) : words}\n`,
      ),
  };
}
