import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { afterEach, describe, expect, it } from 'vitest';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

const KIT = join(import.meta.dirname, '../../packages/kit');
const VECTORS = join(KIT, 'vectors');
const readVectors = (name: string) => JSON.parse(readFileSync(join(VECTORS, name), 'utf8'));
const readme = readFileSync(join(KIT, 'README.md'), 'utf8');

const LANGUAGES = [
  { language: 'python', program: 'python3', args: ['-B'], folder: 'python', check: 'check_vectors.py' },
  { language: 'php', program: 'php', args: [], folder: 'php', check: 'check-vectors.php' },
];

/** Returns whether the language is installed. If not, prints a line: its tests are skipped, even with CI=true. */
function isInstalled(program: string): boolean {
  const { status } = spawnSync(program, ['--version']);
  if (status !== 0)
    process.stderr.write(`skipped: no ${program} on this machine, so its version of the kit is not tested\n`);
  return status === 0;
}

/** Two checks for each valid signature, one for each invalid one, and four for each footer. */
function numberOfChecks(): number {
  const files = ['signatures-ed25519.json', 'signatures-rsa-sha256.json'].map(readVectors);
  const signatures = files.map(({ valid, invalid }) => 2 * valid.length + invalid.length);
  const { requests } = readVectors('headers.json');
  const { spellings } = readVectors('base64.json');
  const { footers } = readVectors('footers.json');
  return [...signatures, requests.length, spellings.length, 4 * footers.length].reduce((sum, n) => sum + n);
}

describe.each(LANGUAGES)('the kit in $language', ({ language, program, args, folder, check }) => {
  const run = (script: readonly string[], env: NodeJS.ProcessEnv = process.env) =>
    spawnSync(program, [...args, ...script], { cwd: join(KIT, folder), env, encoding: 'utf8' });

  describe.skipIf(!isInstalled(program))(`with ${program}`, () => {
    it('passes the signature, header, base64 and footer vectors', () => {
      const { status, stdout, stderr } = run([check]);
      expect([stderr, stdout]).toEqual(['', `${numberOfChecks()} checks passed, 0 failed\n`]);
      expect(status).toBe(0);
    });

    it('reports the vectors that fail', async () => {
      const changed = await tempDir(cleanup);
      cpSync(VECTORS, changed, { recursive: true });
      const vectors = readVectors('signatures-ed25519.json');
      vectors.valid[0].body += ' ';
      writeFileSync(join(changed, 'signatures-ed25519.json'), JSON.stringify(vectors));
      const { status, stdout } = run([check, changed]);
      expect(status).toBe(1);
      expect(stdout.split('\n').slice(1, 3)).toEqual([
        `failed: Ed25519 signs: ${vectors.valid[0].name}`,
        `failed: Ed25519 accepts: ${vectors.valid[0].name}`,
      ]);
    });

    it('the example of the README prints the documented output', async () => {
      const [, code = ''] = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'ms').exec(readme) ?? [];
      const project = await tempDir(cleanup);
      cpSync(join(KIT, folder), project, { recursive: true });
      writeFileSync(join(project, 'example'), code);
      const { privateKeyPem, publicKeyPem } = readVectors('signatures-ed25519.json').keys.seed;
      const { stdout, stderr } = spawnSync(program, [...args, 'example'], {
        cwd: project,
        env: { ...process.env, CRM_PRIVATE_KEY: privateKeyPem, CRM_PUBLIC_KEY: publicKeyPem },
        encoding: 'utf8',
      });
      const printed = Array.from(code.matchAll(/(?:#|\/\/) → (.*)$/gm), ([, line]) => line);
      expect(printed.length).toBeGreaterThan(1);
      expect([stderr, stdout.trimEnd().split('\n')]).toEqual(['', printed]);
    });
  });
});
