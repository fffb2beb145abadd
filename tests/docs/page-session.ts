import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';

import { parseFooter } from '@footbridge/kit';
import { loadConfig } from '@footbridge/service/config';
import { tempDir } from '@footbridge/testkit/cleanup';
import type { Cleanup } from '@footbridge/testkit/cleanup';
import { startCrm } from '@footbridge/testkit/crm';
import type { Crm } from '@footbridge/testkit/crm';
import { freePort } from '@footbridge/testkit/ports';

import type { CodeBlock } from '../../scripts/code-blocks.ts';
import { TSC } from '../../scripts/pack-kit.ts';
import { startShell } from './reader-shell.ts';

const ROOT = join(import.meta.dirname, '../..');
const LOCATION = 'locREADERREADERREAD1';

/** Runs the code blocks of one page as a reader would: in order, in one folder. */
export interface PageSession {
  readonly crm: Crm;
  /** Runs a block. Resolves with the problem, or with undefined. */
  run(block: Pick<CodeBlock, 'language' | 'code'>): Promise<string | undefined>;
}

/** Starts a session with a simulated CRM. The service and the Mac are started by the commands of the page. */
export async function startPageSession(cleanup: Cleanup): Promise<PageSession> {
  const crm = await startCrm();
  cleanup.add(() => crm.stop());
  const folder = await tempDir(cleanup);
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  const ports = {
    4600: await freePort(),
    4610: await freePort(),
    4630: await freePort(),
  };
  const env = {
    PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
    HOME: folder,
    NODE: process.execPath,
    ROOT,
    PACKAGES: join(ROOT, 'packages'),
    SESSION: await tempDir(cleanup),
    HOST: '127.0.0.1',
    PORT: String(ports[4600]),
    ADMIN_PORT: String(ports[4610]),
    FOOTBRIDGE_CONTROL_PORT: String(ports[4630]),
    BASE_URL: `http://127.0.0.1:${ports[4600]}`,
    CRM_HOSTNAME: crm.url,
    PAUSE_MS: '0',
  };
  const shell = startShell(folder, env);
  cleanup.add(() => shell.end());
  const settings: Record<string, string> = {};
  let files = 0;

  /** Replaces the values of the page with those of this session. */
  const adapted = (code: string): string =>
    code
      .replaceAll(
        /127\.0\.0\.1:(4600|4610|4630)/g,
        (_all, port: keyof typeof ports) => `127.0.0.1:${ports[port]}`,
      )
      .replaceAll('LOCATION=pit-…', `${LOCATION}=${crm.pit(LOCATION)}`)
      .replaceAll(/\bLOCATION\b/g, LOCATION);

  async function started(
    command: string,
    args: readonly string[],
    more: object = {},
  ): Promise<{ code: number | null; output: string }> {
    const child = spawn(command, args, {
      cwd: folder,
      env: { ...env, ...more },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const exited = new Promise<number | null>((resolve) => child.on('exit', resolve));
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
    return { code: await exited, output: stdout + stderr };
  }

  /** Adds the settings to `.env`, as a reader does before starting the service, and validates them. */
  async function ini(code: string): Promise<string | undefined> {
    appendFileSync(join(folder, '.env'), code);
    for (const line of code.trim().split('\n')) {
      const [name = '', value = ''] = line.split(/=(.*)/s);
      settings[name] =
        name === 'CRM_OAUTH_ENCRYPTION_KEY' ? randomBytes(32).toString('hex') : value || 'a-value';
    }
    try {
      const { warnings } = loadConfig(settings);
      return warnings.length === 0 ? undefined : warnings.join('\n');
    } catch (error) {
      return String(error);
    }
  }

  /** Runs a program. Its `// → …` comments are the expected output. */
  async function program(code: string, extension: 'js' | 'ts'): Promise<string | undefined> {
    const file = join(folder, `block-${++files}.${extension}`);
    writeFileSync(file, code);
    const key = join(folder, 'key.pem');
    const privateKey = existsSync(key) ? { CRM_PRIVATE_KEY: readFileSync(key, 'utf8') } : {};
    const ended = await started(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', file],
      privateKey,
    );
    const expected = Array.from(code.matchAll(/\/\/ → (.*)$/gm), ([, line]) => line).join('\n');
    if (ended.code !== 0 || ended.output.trimEnd() !== expected)
      return `exit code ${ended.code}, expected:\n${expected}\nprinted:\n${ended.output}`;
    return extension === 'ts' ? await types(file) : undefined;
  }

  async function types(file: string): Promise<string | undefined> {
    const options = ['--noEmit', '--ignoreConfig', '--strict', '--skipLibCheck', '--module', 'nodenext'];
    const more = ['--target', 'es2024', '--types', 'node', '--allowImportingTsExtensions'];
    const { code, output } = await started(process.execPath, [TSC, ...options, ...more, file]);
    return code === 0 ? undefined : output;
  }

  /** Checks that a message has a readable footer. */
  async function message(code: string): Promise<string | undefined> {
    const { metadata, problem } = parseFooter(code.trimEnd());
    return metadata === null ? `no readable footer: ${problem}` : undefined;
  }

  const runners: Readonly<Record<string, (code: string) => Promise<string | undefined>>> = {
    bash: (code) => shell.run(code),
    ini,
    js: (code) => program(code, 'js'),
    ts: (code) => program(code, 'ts'),
    text: message,
  };

  return {
    crm,
    async run({ language, code }) {
      const runner = runners[language];
      if (runner === undefined) throw new Error(`${language} code cannot be run.`);
      return runner(adapted(code));
    },
  };
}
