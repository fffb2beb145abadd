import { parseArgs } from 'node:util';

export interface TestOptions {
  readonly quick: boolean;
  /** The Node to run the tests on, as `22` or `22.19.0`; undefined for the one that runs this. */
  readonly node: string | undefined;
  /** Parts of the paths of the test files to run; none means all. */
  readonly filters: readonly string[];
}

export const TEST_HELP = `npm test -- [options] [FILE or FOLDER …]

  --quick       checks, unit and contract tests; without clusters, crashes and browsers
  --node N      run the tests on another Node, for example 22 or 22.19.0, with production dependencies only
  --help        this text

With files or folders, only the tests in them run, without the checks.
`;

/** Returns what to run, or the problem with the arguments. */
export function readTestOptions(args: string[]): TestOptions | 'help' | { problem: string } {
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        quick: { type: 'boolean', default: false },
        node: { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) return 'help';
    const { quick, node } = values;
    if (node !== undefined && !/^\d+(\.\d+){0,2}$/.test(node))
      return { problem: `--node takes a version such as 22 or 22.19.0, not ${node}` };
    if (quick && positionals.length > 0)
      return { problem: '--quick cannot be combined with files: named files are always run' };
    return { quick, node, filters: positionals };
  } catch (error) {
    // The rest of parseArgs' message is about positional arguments that begin with a dash.
    return { problem: String(error instanceof Error ? error.message : error).split('. ')[0] ?? '' };
  }
}
