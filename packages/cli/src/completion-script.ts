import type { Command } from 'commander';

export type Shell = 'bash' | 'zsh' | 'fish';

/** The words that may follow each command: subcommands, and options of the command and of the program. */
interface Candidates {
  /** `keys add`; empty for the program itself. */
  readonly path: string;
  readonly words: readonly string[];
}

/** Returns a script that completes the commands and options of the program in a shell. */
export function completionScript(program: Command, shell: Shell): string {
  const table = candidatesOf(program, program, '');
  return SCRIPTS[shell](program.name(), table);
}

function candidatesOf(program: Command, command: Command, path: string): Candidates[] {
  const options = new Set([...command.options, ...program.options].flatMap(({ long }) => long ?? []));
  const visible = command.commands.map((one) => one.name());
  const words = [...visible, ...(path === '' ? ['help'] : []), ...options, '--help'];
  const names = command.commands.flatMap((one) =>
    [one.name(), ...one.aliases()].map((name) => [name, one] as const),
  );
  return [
    { path, words },
    ...names.flatMap(([name, one]) => candidatesOf(program, one, `${path} ${name}`.trim())),
  ];
}

const cases = (table: readonly Candidates[], one: (candidates: Candidates) => string): string =>
  table.map(one).join('\n');

/** Each script joins the words before the cursor to the longest known path and offers what may follow it. */
const SCRIPTS: Readonly<Record<Shell, (name: string, table: readonly Candidates[]) => string>> = {
  bash: (
    name,
    table,
  ) => `# ${name} completion for bash: ${name} completion bash > ~/.local/share/bash-completion/completions/${name}
_${name}_words() {
  case "$1" in
${cases(table, ({ path, words }) => `    '${path}') echo '${words.join(' ')}' ;;`)}
    *) return 1 ;;
  esac
}
_${name}() {
  local path='' word i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if _${name}_words "\${path:+$path }$word" > /dev/null; then path="\${path:+$path }$word"; fi
  done
  COMPREPLY=($(compgen -W "$(_${name}_words "$path")" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _${name} ${name}
`,
  zsh: (name, table) => `#compdef ${name}
# ${name} completion for zsh: ${name} completion zsh > "\${fpath[1]}/_${name}"
_${name}_words() {
  case "$1" in
${cases(table, ({ path, words }) => `    '${path}') echo '${words.join(' ')}' ;;`)}
    *) return 1 ;;
  esac
}
_${name}() {
  local path_words='' word
  for word in \${words[2,CURRENT-1]}; do
    if _${name}_words "\${path_words:+$path_words }$word" > /dev/null; then path_words="\${path_words:+$path_words }$word"; fi
  done
  compadd -- \${=$(_${name}_words "$path_words")} || _files
}
if [ "$funcstack[1]" = "_${name}" ]; then _${name}; else compdef _${name} ${name}; fi
`,
  fish: (
    name,
    table,
  ) => `# ${name} completion for fish: ${name} completion fish > ~/.config/fish/completions/${name}.fish
function __${name}_words
    switch "$argv"
${cases(table, ({ path, words }) => `        case '${path}'\n            printf '%s\\n' ${words.join(' ')}`)}
        case '*'
            return 1
    end
end
function __${name}_candidates
    set -l path
    for word in (commandline -opc)[2..]
        if __${name}_words $path $word > /dev/null
            set -a path $word
        end
    end
    __${name}_words $path
end
complete -c ${name} -a '(__${name}_candidates)'
`,
};
