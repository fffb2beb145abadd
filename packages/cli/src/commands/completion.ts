import { Argument } from 'commander';
import type { Command } from 'commander';

import { contextOf } from '../command-context.ts';
import { completionScript } from '../completion-script.ts';
import type { Shell } from '../completion-script.ts';

const EXAMPLES = `
Examples:
  footbridge completion bash > ~/.local/share/bash-completion/completions/footbridge
  footbridge completion fish > ~/.config/fish/completions/footbridge.fish`;

/** `footbridge completion SHELL`: prints the script as is, even when the output is piped. `program` must have all commands. */
export function completionCommand(program: Command): void {
  program
    .command('completion')
    .addArgument(new Argument('<shell>').choices(['bash', 'zsh', 'fish']))
    .addHelpText('after', EXAMPLES)
    .action((shell: Shell, _options: object, command: Command) => {
      contextOf(command).io.stdout.write(completionScript(program, shell));
    });
}
