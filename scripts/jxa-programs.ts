// The programs that the agent gives to `osascript`, each bundled with all its modules into one text, as a file of the agent. Made from
// packages/agent/src/ports/messages/macos/programs by `npm run check -- --write`.
import { join } from 'node:path';

const FOLDER = 'packages/agent/src/ports/messages/macos';
/** The programs: the name of each and its module. */
const PROGRAMS = {
  COMPOSE: 'compose',
  DESCRIBE_WINDOWS: 'describe-windows',
  LIVE_CHATS: 'live-chats',
  REQUEST_PERMISSION: 'request-permission',
  SEND: 'send',
  TAPBACK: 'tapback',
} as const;

/** Returns a program as `osascript` gets it: a script of ES2021 that refers to no other file. */
export async function bundleProgram(root: string, name: string): Promise<string> {
  const { rolldown } = await import('rolldown');
  const program = await rolldown({
    input: join(root, FOLDER, 'programs', `${name}.ts`),
    cwd: root,
    transform: { target: 'es2021' },
    onLog(_level, { message }) {
      throw new Error(`${name} cannot be bundled: ${message}`);
    },
  });
  try {
    // Not strict, as every script for osascript that does not say so.
    const { output } = await program.generate({ format: 'iife', strict: false, comments: false });
    const [chunk, second] = output;
    if (second !== undefined || chunk.imports.length > 0) throw new Error(`${name} needs another file`);
    return chunk.code.trimEnd();
  } finally {
    await program.close();
  }
}

/** The file with all programs, formatted as the rest of the code. */
export async function bundledPrograms(root: string): Promise<string> {
  const programs = await Promise.all(
    Object.entries(PROGRAMS).map(async ([constant, name]) => {
      const lines = (await bundleProgram(root, name)).split('\n');
      return `\nexport const ${constant}: JxaProgram = [\n${lines.map((line) => `  ${quoted(line)},\n`).join('')}].join('\\n');\n`;
    }),
  );
  return `// Made from ${FOLDER}/programs by \`npm run check -- --write\`.\nimport type { JxaProgram } from './osascript.ts';\n${programs.join('')}`;
}

/** A string literal with the quotes that need fewer escapes. */
function quoted(line: string): string {
  const escaped = line.replaceAll('\\', '\\\\').replaceAll('\t', '\\t');
  const count = (quote: string) => line.split(quote).length;
  return count("'") > count('"')
    ? `"${escaped.replaceAll('"', '\\"')}"`
    : `'${escaped.replaceAll("'", "\\'")}'`;
}
