import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterEach, describe, expect, it } from 'vitest';

import { tempDir, createCleanup } from '../cleanup.ts';
import { until } from '../until.ts';
import { checkBrowser } from './browser-check.ts';
import { CHROMIUM, hasChromium } from './chromium.ts';
import type { Program } from './debian-program.ts';
import { findOnce } from './findings.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

async function script(interpreter: string, text: string): Promise<Program> {
  const path = join(await tempDir(cleanup), 'browser');
  await writeFile(path, `#!${interpreter}\n${text}`, { mode: 0o755 });
  return { path, env: {} };
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('a browser that does not start', () => {
  it('is rejected with its exit code when it says nothing', async () => {
    await expect(checkBrowser(await script('/bin/sh', 'exit 3'))).rejects.toThrow(
      /^does not start: exitCode=3$/,
    );
  });

  it('is rejected with its own first error', async () => {
    const program = await script('/bin/sh', 'echo "lib.so: cannot open" >&2; echo more >&2; exit 127');
    await expect(checkBrowser(program)).rejects.toThrow(/^does not start: lib\.so: cannot open$/);
  });

  it('is rejected when it hangs, and is not left running', async () => {
    const program = await script('/bin/sh', 'echo $$ > "$0.pid"; exec sleep 600');
    await expect(checkBrowser(program, 5_000)).rejects.toThrow(/^does not start: not done within 5000 ms$/);
    // On a machine so loaded that it was killed before its first line, there is no file.
    const pid = await readFile(`${program.path}.pid`, 'utf8').catch(() => undefined);
    await until(() => pid === undefined || !isRunning(Number(pid)), { what: 'the browser is gone' });
  });

  it('is rejected when there is no such file', async () => {
    const path = join(await tempDir(cleanup), 'nothing');
    await expect(checkBrowser({ path, env: {} })).rejects.toThrow(
      /^does not start: .*executable doesn't exist/,
    );
  });
});

/** A browser that is real up to a command: then it does `action`. */
async function realUntil(command: string, action: string): Promise<Program> {
  const real = await findOnce(CHROMIUM);
  const relay = await script(
    process.execPath,
    `const { createReadStream, createWriteStream } = require('node:fs');
    const stdio = ['ignore', 'inherit', 'inherit', 'pipe', 'pipe'];
    const browser = require('node:child_process').spawn(
      ${JSON.stringify(real.path)}, process.argv.slice(2), { stdio });
    let goesOn = true;
    createReadStream(null, { fd: 3 }).on('data', (data) => {
      if (data.includes(${JSON.stringify(command)})) { goesOn = false; ${action} }
      if (goesOn) browser.stdio[3].write(data);
    });
    browser.stdio[4].pipe(createWriteStream(null, { fd: 4 }));`,
  );
  return { path: relay.path, env: real.env };
}

describe.skipIf(!(await hasChromium()))('a browser that starts', () => {
  it('is accepted with its version when three contexts were opened and closed', async () => {
    expect(await checkBrowser(await findOnce(CHROMIUM))).toMatch(/^\d+\.\d+/);
  });

  it('is rejected when it ends with its first context', async () => {
    const program = await realUntil('Target.disposeBrowserContext', 'process.exit(1);');
    await expect(checkBrowser(program)).rejects.toThrow(/^starts, but fails: .*closed/);
  });

  it('is rejected when it hangs with its first page', async () => {
    const program = await realUntil('Target.createTarget', '');
    // A loaded machine may need the whole time for the start.
    await expect(checkBrowser(program, 5_000)).rejects.toThrow(/: not done within 5000 ms$/);
  });

  it.runIf(process.platform === 'linux')('is rejected when it has no font to draw text with', async () => {
    const { path, env } = await findOnce(CHROMIUM);
    const withoutFonts = { ...env, FONTCONFIG_SYSROOT: await tempDir(cleanup) };
    await expect(checkBrowser({ path, env: withoutFonts })).rejects.toThrow(
      /^starts, but fails: no font on this machine$/,
    );
  });
});
