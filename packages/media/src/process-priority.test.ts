import { execFile } from 'node:child_process';
import { getPriority } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { expect, it } from 'vitest';

const run = promisify(execFile);

/** Runs the code in a separate process. Resolves with its output. */
async function printedBy(code: string): Promise<string> {
  const module = JSON.stringify(join(import.meta.dirname, 'process-priority.ts'));
  const program = `import { getPriority } from 'node:os'; import { setPriorityIfAllowed } from ${module}; ${code}`;
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', program];
  return (await run(process.execPath, args)).stdout.trim();
}

it('sets the niceness', async () => {
  expect(await printedBy('setPriorityIfAllowed(19); console.log(getPriority())')).toBe('19');
});

it('keeps the current niceness when the system denies the change', async () => {
  // Only root may lower the niceness.
  const code =
    'process.getuid() || process.setuid(1000); setPriorityIfAllowed(-20); console.log(getPriority())';
  expect(await printedBy(code)).toBe(String(getPriority()));
});

it('throws when the niceness is out of range', async () => {
  await expect(printedBy('setPriorityIfAllowed(100)')).rejects.toThrow(/out of range/);
});
