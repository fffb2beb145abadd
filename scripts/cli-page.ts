import { EXIT, EXIT_MEANINGS } from '@footbridge/cli/cli-error';
import type { ExitName } from '@footbridge/cli/cli-error';
import { COMMANDS } from '@footbridge/cli/command-table';
import { createProgram } from '@footbridge/cli/program';

type Command = Awaited<ReturnType<typeof createProgram>>;

const HEAD = `# Command line

<!-- Made from packages/cli/src by \`npm run check -- --write\`. -->

\`npx footbridge\` manages and inspects a running service. Without a command it says what to do next. It reads the same \`.env\` and data folder as the service, so run it in the folder of the service, or save another service with \`footbridge login\`; \`--verbose\` and \`--help\` say which service it talks to. In a checkout, \`node_modules/.bin/footbridge\` starts faster than \`npx footbridge\`.

Results go to stdout, hints and errors to stderr. On a terminal they are text; with \`--json\`, or when stdout is not a terminal, they are one JSON object per line. An error is one line that says what happened, often followed by one that says what to do. Ctrl-C stops a command after it has removed what it created for itself, such as a test key; a second Ctrl-C stops it at once.

Tab completion: \`footbridge completion bash\`, \`zsh\` or \`fish\` prints a script and where to save it.
`;

/** The text of `docs/cli.md`. */
export async function cliPage(): Promise<string> {
  const { stdin, stdout, stderr } = process;
  const program = await createProgram({ env: {}, stdin, stdout, stderr, cleanups: new Set() });
  const groups = Object.entries(COMMANDS).map(([title, entries]) => {
    const commands = entries.flatMap(({ name }) => program.commands.filter((one) => one.name() === name));
    return `## ${title.replace(':', '')}\n\n${commands.map((one) => section(one)).join('\n')}`;
  });
  const codes = Object.entries(EXIT_MEANINGS).map(
    ([name, meaning]) => `| ${EXIT[name as ExitName]} | ${meaning} |`,
  );
  return [
    HEAD,
    `## Options of all commands\n\n${optionTable(program.options)}`,
    `## Exit codes\n\nExit codes are stable.\n\n| code | meaning |\n|---|---|\n${codes.join('\n')}\n`,
    ...groups,
  ].join('\n');
}

function section(command: Command): string {
  const aliases = command.aliases();
  const also = aliases.length === 0 ? '' : ` Also: ${aliases.map((alias) => `\`${alias}\``).join(', ')}.`;
  const about = command.description();
  const parts = [`### ${command.name()}\n\n${about.charAt(0).toUpperCase()}${about.slice(1)}.${also}\n`];
  const leaves = command.commands.length === 0 ? [command] : command.commands;
  if (command.commands.length > 0)
    parts.push(
      `| command | what it does |\n|---|---|\n${leaves.map((leaf) => `| \`${usageOf(leaf)}\` | ${cell(leaf.description())} |`).join('\n')}\n`,
    );
  else parts.push(`\`${usageOf(command)}\`\n`);
  for (const leaf of leaves)
    if (leaf.options.length > 0)
      parts.push(`${leaf === command ? '' : `\`${leaf.name()}\`:\n\n`}${optionTable(leaf.options)}`);
  return parts.join('\n');
}

function usageOf(command: Command): string {
  const names: string[] = [];
  for (let one: Command | null = command; one !== null; one = one.parent) names.unshift(one.name());
  const values = command.registeredArguments.map((argument) => {
    const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
    return argument.required ? `<${name}>` : `[${name}]`;
  });
  return [...names, ...values].join(' ');
}

const optionTable = (options: Command['options']): string =>
  `| option | meaning |\n|---|---|\n${options.map(({ flags, description, argChoices }) => `| \`${cell(flags)}\` | ${cell(description)}${argChoices === undefined ? '' : `: ${argChoices.join(', ')}`} |`).join('\n')}\n`;

const cell = (text: string): string => text.replaceAll('|', '\\|');
