import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

const LAUNCH = new URL('launch.js', import.meta.url).href;
const folder = mkdtempSync(join(tmpdir(), 'footbridge-launch-'));
afterAll(() => rmSync(folder, { recursive: true }));

function launched(program: string, ...args: string[]) {
  const entry = join(folder, 'program.ts');
  writeFileSync(entry, program);
  const starter = join(folder, 'starter.mjs');
  writeFileSync(
    starter,
    `import { launch } from ${JSON.stringify(LAUNCH)};\nlaunch(${JSON.stringify(entry)}, process.argv.slice(2));\n`,
  );
  return spawnSync(process.execPath, [starter, ...args], { encoding: 'utf8' });
}

describe('launch', () => {
  it('runs TypeScript with the arguments and exits with its code', () => {
    const program =
      'const args: string[] = process.argv.slice(2); console.log(args.join()); process.exit(7);';
    expect(launched(program, 'a', 'b')).toMatchObject({ stdout: 'a,b\n', status: 7, signal: null });
  });

  it('ends with the signal that ended the program', () => {
    const program = "process.kill(process.pid, 'SIGTERM'); setTimeout(() => {}, 60_000);";
    expect(launched(program)).toMatchObject({ status: null, signal: 'SIGTERM' });
  });
});
