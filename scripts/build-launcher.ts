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

import { unpackProgram } from '@footbridge/testkit/servers/debian-program';

const run = promisify(execFile);
const LAUNCHER = join(import.meta.dirname, '../packages/mac-launcher');
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
  const files = [...SOURCES, ...ARCHITECTURES.map((architecture) => `prebuilt/${architecture}/${NAME}`)];
  const sums = files.map(async (file) => `${await sha256(join(LAUNCHER, file))}  ${file}\n`);
  await writeFile(join(LAUNCHER, 'prebuilt/SHA256SUMS'), (await Promise.all(sums)).join(''));
}

async function sha256(path: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(path))
    .digest('hex');
}

async function check(): Promise<boolean> {
  let same = true;
  for (const architecture of ARCHITECTURES) {
    const isSame = (await buildLauncher(architecture)).equals(await readFile(prebuilt(architecture)));
    process.stdout.write(
      `${isSame ? '✔' : '✖'} ${architecture}: ${isSame ? 'same bytes' : 'differs from prebuilt'}\n`,
    );
    same &&= isSame;
  }
  return same;
}

if (!process.argv.includes('--check')) await write();
else if (!(await check())) process.exitCode = 1;
