import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, readdirSync, symlinkSync } from 'node:fs';
import { chmod, chown, copyFile, mkdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';

import { Child } from '@footbridge/testkit/child';
import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { freePort } from '@footbridge/testkit/ports';
import { afterAll, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const DOCKERFILE = readFileSync(join(ROOT, 'deploy/docker/Dockerfile'), 'utf8').replaceAll('\\\n', '');
/** The user `node` of the image. */
const NODE_USER = 1000;
const run = promisify(execFile);

const cleanup = createCleanup();
afterAll(() => cleanup.run());

/** Copies the files that the build stage copies and .dockerignore allows. Links the installed dependencies instead of running `npm ci`. */
function copySource(source: string): void {
  const ignored = /(?:^|[\\/])(?:node_modules|dist)$|\.test\.ts$/;
  const copies = [...DOCKERFILE.matchAll(/^COPY (?!--from)(.+) (\S+)$/gm)];
  for (const [, paths = '', target = ''] of copies)
    for (const path of paths.split(' '))
      cpSync(join(ROOT, path), join(source, target === './' ? path : target), {
        recursive: true,
        filter: (from) => !ignored.test(relative(ROOT, from)),
      });
  const modules = join(source, 'node_modules');
  mkdirSync(join(modules, '@footbridge'), { recursive: true });
  for (const name of readdirSync(join(ROOT, 'node_modules')))
    if (name !== '@footbridge') symlinkSync(join(ROOT, 'node_modules', name), join(modules, name));
  for (const name of readdirSync(join(source, 'packages')))
    symlinkSync(join(source, 'packages', name), join(modules, '@footbridge', name));
}

/** Returns the arguments that an instruction of the Dockerfile passes to Node, with the path of the program replaced. */
function argumentsOf(instruction: string, program: string): string[] {
  const [, json = ''] = new RegExp(`^${instruction}.*?(\\[.+\\])$`, 'm').exec(DOCKERFILE) ?? [];
  const [node, ...args] = JSON.parse(json) as string[];
  expect(node).toBe('node');
  return args.map((arg) => arg.replace('/program', program));
}

it('the steps of the Dockerfile build a program that runs as another user, and its health check works', async () => {
  const scratch = await tempDir(cleanup);
  await chmod(scratch, 0o755);
  const source = join(scratch, 'source');
  const program = join(scratch, 'program');
  const data = join(scratch, 'data');
  // The other user might not have access to the folder of this Node.
  const node = join(scratch, 'node');
  await copyFile(process.execPath, node);
  copySource(source);
  expect(DOCKERFILE).toMatch(/^RUN npm run pack -- footbridge \/program$/m);
  await run('npm', ['run', 'pack', '--', 'footbridge', program], {
    cwd: source,
    env: { ...process.env, INIT_CWD: source },
  });

  const [, settings = ''] = /^ENV (.+)$/m.exec(DOCKERFILE) ?? [];
  const env = {
    ...Object.fromEntries(settings.split(' ').map((pair) => pair.split('='))),
    DATA_DIR: data,
    PORT: String(await freePort()),
    ADMIN_PORT: String(await freePort()),
  };
  await mkdir(data);
  const user = process.getuid?.() === 0 ? { uid: NODE_USER, gid: NODE_USER } : {};
  if (user.uid !== undefined) await chown(data, user.uid, user.gid);
  const options = { env, bareEnv: true, cwd: '/', ...user };
  const checkHealth = async () =>
    (await new Child(node, argumentsOf('HEALTHCHECK', program), options).exited).code;

  expect(await checkHealth()).toBe(1);
  const service = new Child(node, argumentsOf('CMD', program), options);
  cleanup.add(() => service.end());
  await service.line((line) => line.includes('service.ready') || undefined, 60_000, 'the service is ready');
  expect(await checkHealth()).toBe(0);
  const cli = new Child(node, [join(program, 'cli/bin/footbridge.mjs'), 'doctor', '--json'], options);
  await cli.exited;
  expect(cli.lines.join('\n')).toContain('"check":"service"');
  expect(await service.end('SIGTERM')).toEqual({ code: 0, signal: null });
}, 600_000);
