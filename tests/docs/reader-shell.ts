import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const TERMINAL = join(import.meta.dirname, 'terminal.sh');
const END = '--- end of the commands ---';

export interface ReaderShell {
  /** Runs commands; variables and the working directory persist. Resolves with the problem, or with undefined. */
  run(commands: string): Promise<string | undefined>;
  /** Ends the shell and the programs that it started. */
  end(): Promise<void>;
}

/** Starts bash with the functions of `terminal.sh`. It exits with the parent process, because its input ends. */
export function startShell(cwd: string, env: Readonly<Record<string, string>>): ReaderShell {
  const bash = spawn('bash', ['--noprofile', '--norc'], { cwd, env });
  let output = '';
  const waiting = new Set<() => void>();
  const more = (part: string) => {
    output += part;
    for (const check of waiting) check();
  };
  bash.stdout.setEncoding('utf8').on('data', more);
  bash.stderr.setEncoding('utf8').on('data', more);
  let exitCode: number | null | undefined;
  const closed = new Promise<void>((resolve) => {
    bash.on('close', (code) => {
      exitCode = code;
      more('');
      resolve();
    });
  });
  // Writing to a shell that has already exited fails; `run` reports its exit code.
  bash.stdin.on('error', () => {});
  bash.stdin.write(`source '${TERMINAL}'\n`);
  let blocks = 0;

  return {
    async run(commands) {
      const file = join(env['SESSION'] ?? cwd, `block-${++blocks}.sh`);
      writeFileSync(file, commands);
      output = '';
      await new Promise<void>((resolve) => {
        const check = () => {
          if (exitCode === undefined && !output.includes(END)) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        bash.stdin.write(`source '${file}' </dev/null\necho '${END}'\n`);
        check();
      });
      return exitCode === undefined ? undefined : `exit code ${exitCode}\n${output}`;
    },
    async end() {
      bash.stdin.end();
      await closed;
    },
  };
}
