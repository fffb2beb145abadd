// Finds the command lines of ours that documents, help texts, hints and comments name, and checks them against the commands.

/** A command with its subcommands and options, as commander describes it. */
export interface CommandTable {
  readonly commands: ReadonlyMap<string, CommandTable>;
  /** Long and short names: `--json`, `-q`. */
  readonly options: ReadonlySet<string>;
}

type CommanderCommand = {
  name(): string;
  readonly commands: readonly CommanderCommand[];
  readonly options: readonly { readonly long?: string | undefined; readonly short?: string | undefined }[];
};

export function commandTable({ commands, options }: CommanderCommand): CommandTable {
  return {
    commands: new Map(commands.map((command) => [command.name(), commandTable(command)])),
    options: new Set(
      options.flatMap(({ long, short }) => [long, short].filter((name) => name !== undefined)),
    ),
  };
}

/** Where a command line ends: at a quote, a line break, a comment or punctuation of the sentence around it. */
const COMMAND =
  /(?<![\w@/.-])(footbridge(?:-agent)?)((?: +(?:--?[a-z][\w-]*|"[^"\n]*"|[\w$./~][\w./:@%+=…{}$-]*))+)/g;

/** The command lines of `program` in a text, each as its words after the name. */
export function commandsIn(program: string, text: string): string[][] {
  return [...text.matchAll(COMMAND)]
    .filter(([, name]) => name === program)
    .map(([, , words = '']) => words.trim().split(/ +(?=(?:[^"]*"[^"]*")*[^"]*$)/));
}

const HELP = new Set(['--help', '-h', '--version', '-V']);

/** Returns what is wrong with a command line, or undefined. Arguments are not checked. */
export function problemWith(words: readonly string[], table: CommandTable): string | undefined {
  const options = new Set([...HELP, ...table.options]);
  let current = table;
  let path = '';
  for (const word of words.filter((one) => !one.startsWith('-'))) {
    const next = current.commands.get(word.replace(/[.:]$/, ''));
    if (next === undefined) {
      if (current.commands.size > 0) return `${path}${word} is not a command`;
      break;
    }
    current = next;
    path += `${word} `;
    for (const option of current.options) options.add(option);
  }
  const unknown = words
    .filter((word) => /^--?[a-z]/.test(word))
    .find((word) => !options.has(word.replace(/=.*$/, '')));
  return unknown === undefined ? undefined : `${path}has no option ${unknown}`;
}
