// Builds the macOS launcher for both architectures with Debian's clang and lld, on Linux. The result is committed: the same bytes
// on every machine, because macOS grants permissions to these bytes. `npm run launcher` writes them, `npm run launcher -- --check`
// compares them with what is committed.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';

import { readMachO } from '@footbridge/mac-launcher/mach-o';
import { unpackProgram } from '@footbridge/testkit/servers/debian-program';

const run = promisify(execFile);
const LAUNCHER = join(import.meta.dirname, '../packages/mac-launcher');
const SUMS = join(LAUNCHER, 'prebuilt/SHA256SUMS');
const SOURCES = ['src/launcher.c', 'src/libSystem.tbd'];
const NAME = 'footbridge-agent';
const MINIMUM_MACOS = '13.5';
const SDK = '26.0';
const COMPILER_FLAGS = ['-Os', '-ffreestanding', '-fno-stack-protector', '-Wall', '-Wextra', '-Werror', '-c'];
const LINKER_FLAGS = [
  '-platform_version',
  'macos',
  MINIMUM_MACOS,
  SDK,
  '-adhoc_codesign',
  '-dead_strip',
  '-S',
];

const ARCHITECTURES = ['arm64', 'x86_64'] as const;
type Architecture = (typeof ARCHITECTURES)[number];

function prebuilt(architecture: Architecture): string {
  return join(LAUNCHER, 'prebuilt', architecture, NAME);
}

/** Compiles and links the launcher. The linker signs it ad hoc, under the name of the output file. */
async function buildLauncher(architecture: Architecture): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'footbridge-launcher-'));
  try {
    const object = join(folder, 'launcher.o');
    const output = join(folder, NAME);
    await tool('clang-16', 'usr/lib/llvm-16/bin/clang', [
      `--target=${architecture}-apple-macos${MINIMUM_MACOS}`,
      ...COMPILER_FLAGS,
      'src/launcher.c',
      `-o${object}`,
    ]);
    await tool('lld-16', 'usr/lib/llvm-16/bin/ld64.lld', [
      ...LINKER_FLAGS,
      '-arch',
      architecture,
      '-o',
      output,
      object,
      'src/libSystem.tbd',
    ]);
    return await readFile(output);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function tool(debianPackage: string, path: string, args: readonly string[]): Promise<void> {
  const { path: program, env } = await unpackProgram({ packages: [debianPackage], path });
  await run(program, args, { cwd: LAUNCHER, env: { ...process.env, ...env } });
}

async function write(): Promise<void> {
  for (const architecture of ARCHITECTURES) {
    const bytes = await buildLauncher(architecture);
    await mkdir(join(LAUNCHER, 'prebuilt', architecture), { recursive: true });
    await writeFile(prebuilt(architecture), bytes);
    await chmod(prebuilt(architecture), 0o755);
  }
  await writeFile(SUMS, await sums());
}

async function sums(): Promise<string> {
  const files = [...SOURCES, ...ARCHITECTURES.map((architecture) => `prebuilt/${architecture}/${NAME}`)];
  const lines = files.map(async (file) => `${await sha256(join(LAUNCHER, file))}  ${file}\n`);
  return (await Promise.all(lines)).join('');
}

async function sha256(path: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(path))
    .digest('hex');
}

/** Rebuilds the launchers and verifies what is committed: its bytes, headers, page hashes and hashes. */
async function check(): Promise<boolean> {
  const verdicts = await Promise.all([...ARCHITECTURES.map(checkLauncher), checkSums()]);
  for (const { ok, text } of verdicts) process.stdout.write(`${ok ? '✔' : '✖'} ${text}\n`);
  return verdicts.every(({ ok }) => ok);
}

interface Verdict {
  readonly ok: boolean;
  readonly text: string;
}

async function checkLauncher(expected: Architecture): Promise<Verdict> {
  const committed = await readFile(prebuilt(expected));
  const isSame = (await buildLauncher(expected)).equals(committed);
  const { architecture, minimumMacos, signature } = readMachO(committed);
  const { pages, changedPages, cdHash } = signature;
  const ok =
    isSame && architecture === expected && minimumMacos === MINIMUM_MACOS && changedPages.length === 0;
  return {
    ok,
    text: `${expected}: ${isSame ? 'same bytes' : 'differs from prebuilt'}, ${committed.length} bytes for macOS ${minimumMacos} on ${architecture}, ${pages - changedPages.length} of ${pages} page hashes match, cdhash ${cdHash}`,
  };
}

async function checkSums(): Promise<Verdict> {
  const ok = (await sums()) === (await readFile(SUMS, 'utf8'));
  return { ok, text: `SHA256SUMS ${ok ? 'matches' : 'does not match'} sources and programs` };
}

if (!process.argv.includes('--check')) await write();
else if (!(await check())) process.exitCode = 1;
