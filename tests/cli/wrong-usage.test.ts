import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

import { EXIT } from '@footbridge/cli/cli-error';
import { createProgram } from '@footbridge/cli/program';
import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { startBridge } from '../bridge.ts';
import type { RunningBridge } from '../bridge.ts';
import { recordedIo, runInProcess } from './run-in-process.ts';

type Command = Awaited<ReturnType<typeof createProgram>>;

const cleanup = createCleanup();
afterAll(() => cleanup.run());

const TOKEN = 'operator-token-for-tests';
/** Fails at once: nothing listens on the port. */
const NO_SERVICE = 'http://127.0.0.1:1';

/** The lists of the service, with an entry that is never valid. */
const NULLS = JSON.stringify(
  Object.fromEntries(
    ['keys', 'licenses', 'locations', 'devices', 'issues', 'messages', 'tokens', 'tenants', 'entries'].map(
      (name) => [name, [null]],
    ),
  ),
);

interface WrongUsage {
  readonly args: readonly string[];
  readonly env?: Record<string, string>;
  /** The acceptable exit codes. */
  readonly codes: readonly number[];
  /** The command reports it as a finding on stdout. */
  readonly isFinding?: boolean;
}

let bridge: RunningBridge;
let folder: string;
/** Faulty services, by their fault. */
const faulty = new Map<string, { url: string; codes: readonly number[] }>();

beforeAll(async () => {
  bridge = await startBridge({ OPERATOR_TOKEN: TOKEN });
  cleanup.add(() => bridge.stop());
  folder = await tempDir(cleanup);
  writeFileSync(join(folder, 'two words'), 'not a token');
  writeFileSync(join(folder, 'empty'), '');
  writeFileSync(join(folder, 'numbers'), '+14155550100\n');
  const server = createServer((request, response) => {
    const [, fault = '', rest = ''] = /^\/(\w+)(\/.*)$/.exec(request.url ?? '') ?? [];
    if (fault === 'html') response.setHeader('Content-Type', 'text/html').end('<html>Welcome</html>');
    else if (fault === 'text') response.end('"hello"');
    else if (fault === 'object') response.end('{}');
    else if (fault === 'list') response.end('[]');
    else if (fault === 'nulls') response.end(NULLS);
    else if (fault === 'nothing') response.end();
    else if (fault === 'huge')
      response.writeHead(200, { 'Content-Length': String(2 ** 30) }).write('{"keys":[');
    else if (fault === 'hugeError') response.writeHead(500, { 'Content-Length': String(2 ** 30) }).write('{');
    else if (fault === 'redirect') response.writeHead(302, { Location: `/html${rest}` }).end();
    else if (fault === 'missing') response.writeHead(404).end('<h1>404</h1>');
    else if (fault === 'down') response.writeHead(502).end('Bad gateway');
    else if (fault === 'busy') response.writeHead(429, { 'Retry-After': '7' }).end('{}');
    else if (fault === 'torn') {
      response.writeHead(200, { 'Content-Length': '99' }).write('{"ke');
      setImmediate(() => response.destroy());
    }
    // `silent` never responds.
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanup.add(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  for (const [fault, codes] of Object.entries({
    html: [EXIT.unreachable],
    text: [EXIT.unreachable],
    object: [EXIT.unreachable],
    list: [EXIT.unreachable],
    nulls: [EXIT.unreachable],
    nothing: [EXIT.unreachable],
    huge: [EXIT.unreachable],
    hugeError: [EXIT.unreachable],
    redirect: [EXIT.unreachable],
    missing: [EXIT.unreachable],
    down: [EXIT.unreachable],
    busy: [EXIT.rateLimited],
    torn: [EXIT.unreachable],
    silent: [EXIT.timedOut],
  }))
    faulty.set(fault, { url: `http://127.0.0.1:${port}/${fault}`, codes });
});

/** Commands that do not need a service, unless an option makes them call one. */
const OFFLINE = new Set([
  'login',
  'logout',
  'profiles',
  'completion',
  'explain',
  'sign',
  'start',
  'demo',
  'setup',
  'conformance',
  'backup',
  'restore',
  'migrate',
  'config',
]);
/** Commands that report a faulty service as a finding instead of an error. */
const DIAGNOSING = new Set(['doctor']);

/** A valid value for each argument. */
const SAMPLES: Readonly<Record<string, string>> = { shell: 'bash', number: '3', event: 'inbound.text' };
/** Valid options for the commands that require some. */
const SAMPLE_OPTIONS: Readonly<Record<string, readonly string[]>> = {
  listen: ['--forward', 'http://127.0.0.1:1', '--port', '0'],
  trigger: ['--wait'],
  'opt-out import': ['--location', 'loc1'],
  'opt-out add': ['--phone', '+14155550100'],
  'opt-out remove': ['--phone', '+14155550100'],
  'privacy export': ['--phone', '+14155550100'],
  'privacy erase': ['--phone', '+14155550100'],
  'keys add': ['--preset', 'highlevel'],
  send: ['--to', '+14155550100', '--location', 'loc1'],
  find: ['--phone', '+14155550100'],
  reach: ['--phone', '+14155550100'],
  sign: ['--key-file', 'package.json', '--body', 'package.json'],
  verify: ['--body', 'package.json', '--signature', 'AAAA'],
  'keys test': ['--body', 'package.json', '--signature', 'AAAA'],
};

interface Leaf {
  readonly path: string;
  readonly command: Command;
}

function leavesOf(command: Command, path: readonly string[] = []): Leaf[] {
  if (command.commands.length === 0) return [{ path: path.join(' '), command }];
  return command.commands.flatMap((one) => leavesOf(one, [...path, one.name()]));
}

function wrongUsagesOf({ path, command }: Leaf): WrongUsage[] {
  const words = path.split(' ');
  const samples: Readonly<Record<string, string>> = { ...SAMPLES, file: join(folder, 'numbers') };
  const values = command.registeredArguments.map((argument) => samples[argument.name()] ?? 'x1');
  const options = SAMPLE_OPTIONS[path] ?? [];
  const good = [...words, ...values, ...options];
  const usage = (...args: string[]): WrongUsage => ({ args: [...good, ...args], codes: [EXIT.usage] });
  const withEnv = (args: readonly string[], env: Record<string, string>, codes: readonly number[]) => ({
    args: [...good, ...args],
    env,
    codes,
  });
  const shared = [
    ...['--colour', '--jsn', '-x', '--quite', '--no-such=1'].map((option) => usage(option)),
    ...['x', '0', '-1', '3601', '1e9', 'NaN'].map((value) => usage('--timeout', value)),
    ...['foo', 'ftp://x', 'http://', '//x', '127.0.0.1:4610'].map((value) => usage('--url', value)),
    ...['--url', '--timeout', '--token-file', '--profile'].map((option) => usage(option)),
    ...['--url', '--timeout', '--token-file', '--profile'].map((option) => usage(option, '')),
    usage('an', 'extra', 'argument', 'or', 'more'),
  ];
  const missing = command.registeredArguments.flatMap(({ required }, at) =>
    required ? [{ args: [...words, ...values.slice(0, at)], codes: [EXIT.usage] }] : [],
  );
  const badValues = command.options.flatMap(({ long = '', required, argChoices, parseArg }) => [
    ...(required ? [usage(long)] : []),
    ...(argChoices !== undefined || (required && parseArg !== undefined && long !== '--location')
      ? [usage(long, '§')]
      : []),
  ]);
  if (OFFLINE.has(words[0] ?? '')) return [...shared, ...missing, ...badValues];
  const named = { FOOTBRIDGE_OPERATOR_URL: bridge.operatorUrl };
  const settings = [
    withEnv(['--profile', 'nowhere'], named, [EXIT.configuration]),
    withEnv([], { FOOTBRIDGE_OPERATOR_URL: 'nonsense', OPERATOR_TOKEN: TOKEN }, [EXIT.configuration]),
    withEnv([], { ADMIN_PORT: '0', OPERATOR_TOKEN: TOKEN }, [EXIT.configuration]),
    withEnv([], { ADMIN_PORT: 'x', OPERATOR_TOKEN: TOKEN }, [EXIT.configuration]),
  ];
  const services = [
    withEnv(['--yes'], { ...named, OPERATOR_TOKEN: 'wrong-token-wrong-token' }, [
      EXIT.notAuthorised,
      EXIT.rateLimited,
    ]),
    ...['none', 'two words', 'empty', '.'].map((file) =>
      withEnv(['--token-file', join(folder, file)], named, [EXIT.configuration]),
    ),
    withEnv(['--yes'], { FOOTBRIDGE_OPERATOR_URL: NO_SERVICE, OPERATOR_TOKEN: TOKEN }, [EXIT.unreachable]),
    ...[...faulty.values()].map(({ url, codes }) =>
      withEnv(
        ['--yes', '--timeout', codes.includes(EXIT.timedOut) ? '0.05' : '60', '--url', url],
        {
          OPERATOR_TOKEN: TOKEN,
        },
        codes,
      ),
    ),
  ];
  const found = services.map((one) =>
    DIAGNOSING.has(path) ? { ...one, codes: [EXIT.checkFailed], isFinding: true } : one,
  );
  return [...shared, ...missing, ...badValues, ...settings, ...found];
}

/** One line that says what happened, and at most one that says what to do. Never a stack trace. */
function isClear(text: string, isTTY: boolean): boolean {
  const [first = '', ...rest] = text.trimEnd().split('\n');
  if (/internal error|\n {4}at /.test(text)) return false;
  if (isTTY) return first.includes('✖') && rest.length <= 1 && rest.every((line) => /^ *Next: /.test(line));
  const line = JSON.parse(first) as object;
  return rest.length === 0 && ('error' in line || 'next' in line);
}

const program = await createProgram(recordedIo());

describe('wrong usage', () => {
  it.each(leavesOf(program).map((leaf) => [leaf.path, leaf] as const))(
    'of footbridge %s ends with one clear line and the right exit code',
    async (_path, leaf) => {
      const usages = wrongUsagesOf(leaf);
      expect(usages.length).toBeGreaterThanOrEqual(25);
      const faults: string[] = [];
      for (const [index, { args, env = {}, codes, isFinding = false }] of usages.entries()) {
        const isTTY = index % 2 === 0;
        const { code, stdout, stderr } = await runInProcess(args, { env: { HOME: folder, ...env }, isTTY });
        const isQuiet = isFinding || stdout === '';
        const isRight = codes.includes(code) && isQuiet && isClear(isFinding ? stdout : stderr, isTTY);
        if (!isRight) faults.push(`${args.join(' ')} ${JSON.stringify(env)}: ${code} ${stdout}${stderr}`);
      }
      expect(faults).toEqual([]);
    },
  );

  it('stops reading an endless response', async () => {
    const server = createServer((_request, response) => {
      const part = Buffer.alloc(2 ** 20, ' ');
      const write = () => {
        while (response.write(part));
      };
      response.on('drain', write);
      write();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    cleanup.add(() => {
      server.closeAllConnections();
      server.close();
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { code, stderr } = await runInProcess(['keys', 'list', '--url', url, '--timeout', '60'], {
      env: { HOME: folder, OPERATOR_TOKEN: TOKEN },
      isTTY: true,
    });
    expect([code, stderr]).toEqual([EXIT.unreachable, expect.stringContaining('larger than 64 MB')]);
  });

  it.each([
    ['kyes', 'unknown command kyes; did you mean keys?'],
    ['help kyes', 'unknown command kyes; did you mean keys?'],
    ['kyes --help', 'unknown command kyes; did you mean keys?'],
    ['zzzzzzzz', 'unknown command zzzzzzzz; see footbridge --help'],
    ['keys', 'footbridge keys needs a subcommand: add, list, disable, enable, remove, rejections, test'],
    ['keys lst', "unknown command 'lst'; did you mean list?"],
    ['keys list --jsn', "unknown option '--jsn'; did you mean --json?"],
    ['show', "missing required argument 'id'; see footbridge show --help"],
    ['--url', "option '--url <url>' argument missing; see footbridge --help"],
  ])('footbridge %s: %s', async (line, message) => {
    const { code, stderr } = await runInProcess(line.split(' '), { isTTY: true });
    expect([code, stderr.replace(/^.*✖.*? /, '')]).toEqual([EXIT.usage, `${message}\n`]);
  });
});
