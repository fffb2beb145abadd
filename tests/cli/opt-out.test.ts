import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';

import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { closeHttp, listen } from '@footbridge/testkit/loopback';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { LOCATION, OTHER_LOCATION, PHONE, TestBridge } from '../contract/test-bridge.ts';
import { runCli } from './run-cli.ts';
import { runForLines } from './run-in-process.ts';

const BIN = join(import.meta.dirname, '../../packages/cli/bin/footbridge');

const cleanup = createCleanup();
afterEach(() => cleanup.run());

async function start() {
  const bridge = await TestBridge.start();
  cleanup.add(() => bridge.stop());
  const folder = await tempDir(cleanup);
  const { operatorUrl, operatorToken } = bridge.bridge;
  const env = { FOOTBRIDGE_OPERATOR_URL: operatorUrl, OPERATOR_TOKEN: operatorToken };
  /** In a process of its own when it reads standard input or exports, because both use the streams of the process. */
  const run = (args: string[], input = '') =>
    input === '' && args[0] !== 'export'
      ? runForLines(['opt-out', ...args], { env })
      : runCli(['opt-out', ...args], folder, env, input);
  const file = async (content: string) => {
    const path = join(folder, 'list');
    await writeFile(path, content);
    return path;
  };
  return { bridge, run, file };
}

const numbers = (count: number) =>
  Array.from({ length: count }, (_, index) => `+1415${String(5_000_000 + index)}`);

describe('footbridge opt-out', () => {
  it('E4 adds a number from standard input, finds it, and removes it', async () => {
    const { run } = await start();
    expect((await run(['add', LOCATION, '--phone', '-'], `${PHONE}\n`)).code).toBe(0);
    expect((await run(['list', '--phone', '(415) 555-0100'])).lines).toMatchObject([
      { locationId: LOCATION, source: 'operator' },
    ]);
    expect((await run(['remove', LOCATION, '--phone', PHONE])).code).toBe(0);
    expect((await run(['list'])).lines).toEqual([]);
  });

  it.each([
    ['one number per line', `${PHONE}\r\n\r\n+44 20 7946 0018\r\n`],
    [
      'a header and quotes',
      `\uFEFFName,"Phone",Note\n"Doe, Jo","${PHONE}",x\nAl,'+442079460018,"say ""hi"""`,
    ],
    ['semicolons and no header', `7;${PHONE};x\n8;+442079460018;y\n`],
    ['a header with another number', `Order Number,Name,Phone\n4155550111,Jo,${PHONE}\n,Al,+442079460018`],
    ['a header that has “cell” in a word', `Cancelled,Cell_Number\n4155550111,${PHONE}\n,+442079460018`],
    ['a header that has “mobil” in a word', `Immobilien-Nr,Telefon\n4155550111,${PHONE}\n,+442079460018`],
    [
      'a header that has “mobile” after a word',
      `Order Number,ClaimMobile\n4155550111,${PHONE}\n,+442079460018`,
    ],
    ['a header that has “Tel” in camel case', `Order Number,HomeTel\n4155550111,${PHONE}\n,+442079460018`],
    ['a header that only says number', `Name,Number\nJo,${PHONE}\nAl,+442079460018`],
    ['a header with digits', `Name,Phone 1 (E.164)\nJo,${PHONE}\nAl,+442079460018`],
  ])('E4 imports %s', async (_name, content) => {
    const { run, file } = await start();
    const { code, lines } = await run(['import', await file(content), '--location', LOCATION]);
    expect([code, lines]).toEqual([0, [{ imported: 2, invalid: 0, lines: '' }]]);
    for (const phone of [PHONE, '+442079460018'])
      expect((await run(['list', '--phone', phone])).lines).toHaveLength(1);
  });

  it('E4 names the lines without a number, and imports the others', async () => {
    const { run, file } = await start();
    const list = await file(`${PHONE}\nunknown\n+14155550101\n+1\n`);
    const { code, lines, stderr } = await run(['import', list, '--location', LOCATION]);
    expect([code, lines]).toEqual([1, [{ imported: 2, invalid: 2, lines: '2, 4' }]]);
    expect(stderr).toContain('2 lines without a valid phone number: 2, 4');
    expect(stderr).not.toContain('4155550');
  });

  it('E4 exports all locations page by page, and imports the export', async () => {
    const { bridge, run, file } = await start();
    const list = await file(numbers(2500).join('\n'));
    for (const location of [LOCATION, OTHER_LOCATION])
      expect((await run(['import', list, '--location', location, '--decided', '2026-01-31'])).code).toBe(0);
    const exported = await run(['export']);
    expect(exported.lines).toHaveLength(5000);
    expect(exported.lines[0]).toMatchObject({ source: 'operator', since: '2026-01-31T00:00:00.000Z' });
    bridge.rows('delete from suppressions');
    expect((await run(['import', '-'], exported.stdout)).lines).toMatchObject([{ imported: 5000 }]);
    expect((await run(['export'])).stdout).toBe(exported.stdout);
    bridge.rows('delete from suppressions');
    expect((await run(['import', '-', '--location', LOCATION], exported.stdout)).lines).toMatchObject([
      { imported: 2500 },
    ]);
  });

  it('E4 rejects a list without a location, a file that does not exist, and a file that is not an export', async () => {
    const { run, file } = await start();
    expect((await run(['import', await file(PHONE)])).stderr).toContain('needs --location');
    expect(await run(['import', 'missing.csv', '--location', LOCATION])).toMatchObject({ code: 2 });
    for (const content of ['{}', '{"hash":', '{"hash":1,"key":"k"}'])
      expect((await run(['import', await file(content)])).stderr).toContain(
        'line 1 is not an entry of an export',
      );
    const other = {
      locationId: LOCATION,
      key: 'other',
      hash: 'h',
      source: 'crm',
      since: '2026-01-31T00:00:00Z',
    };
    expect((await run(['import', await file(JSON.stringify(other))])).stderr).toContain('another key');
    expect((await run(['import', await file(PHONE), '--location', LOCATION, '--decided', 'now'])).code).toBe(
      2,
    );
  });

  it('E4 completes the request in flight after Ctrl-C, and prints how many opt-outs were imported', async () => {
    const { file } = await start();
    let respond = () => {};
    let requests = 0;
    let isReceived = false;
    const server = createServer((request, response) => {
      requests++;
      request.resume().on('end', () => {
        isReceived = true;
        respond = () => response.end(JSON.stringify({ imported: 2000, invalid: [] }));
      });
    });
    const port = await listen(server);
    cleanup.add(() => closeHttp(server));
    const child = spawn(BIN, ['opt-out', 'import', await file(numbers(4000).join('\n')), '--location', 'l'], {
      env: { ...process.env, FOOTBRIDGE_OPERATOR_URL: `http://127.0.0.1:${port}`, OPERATOR_TOKEN: 'token' },
    });
    let stderr = '';
    child.stderr.on('data', (part: Buffer) => (stderr += part.toString()));
    const ended = new Promise((resolve) => child.once('close', resolve));
    await until(() => isReceived);
    child.kill('SIGINT');
    await until(() => stderr.includes('Interrupted'));
    respond();
    expect([await ended, stderr]).toEqual([
      130,
      expect.stringContaining('2000 opt-outs were imported. Import the file again to continue.\n'),
    ]);
    expect(requests).toBe(1);
  });
});
