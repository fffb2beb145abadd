import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';

import { Agent } from '@footbridge/testkit/agent';
import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { closeHttp, listen } from '@footbridge/testkit/loopback';
import { silentLog } from '@footbridge/testkit/silent-log';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { unencryptedLink } from '@footbridge/agent/config/unencrypted-link';
import { saveToken } from '@footbridge/agent/edges/enrolment/token-file';
import { createUploads } from '@footbridge/agent/edges/uploads';
import { openEnrolment } from '@footbridge/agent/open/enrolment';
import { command } from './run-command.ts';
import { ScriptedService } from './scripted-service.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

const MB = 1_000_000;

async function service(): Promise<ScriptedService> {
  const started = await new ScriptedService().start();
  cleanup.add(() => started.stop());
  return started;
}

describe('a device token that cannot be sent', () => {
  const BAD_TOKENS = ['one\ntwo', 'one\r\nX: y', ' ', '', 'é', 7];

  it('is not saved', async () => {
    const scripted = await service();
    const dir = await tempDir(cleanup);
    const enrolment = await openEnrolment(
      { url: scripted.url, dataDir: dir, license: 'KEY-1', deviceId: undefined },
      '26.1',
      silentLog,
    );
    for (const deviceToken of BAD_TOKENS) {
      scripted.activations = [{ status: 201, body: { deviceToken, locationId: 'location1' } }];
      for (const outcome of [await enrolment.activate(), await enrolment.pair('K7QF-3M9X')])
        expect(outcome).toMatchObject({ ok: false, message: expect.stringContaining('without a token') });
    }
    scripted.activations = [{ status: 201, body: { locationId: 'loc\nation' } }];
    expect((await enrolment.pair('K7QF-3M9X')).ok).toBe(false);
    expect(existsSync(join(dir, 'device-token.json'))).toBe(false);
  });

  it('in the data folder does not stop the start: the agent activates again, and doctor names the token', async () => {
    const { url } = await service();
    const dir = await tempDir(cleanup);
    await saveToken(dir, { url, token: 'one\ntwo', license: '' });
    const doctor = await command(
      'doctor',
      '--simulate',
      '--url',
      url,
      '--location',
      'location1',
      '--data-dir',
      dir,
    );
    expect(doctor.out).toContain('device-token.json is damaged');
    const without = await command(
      'run',
      '--simulate',
      '--url',
      url,
      '--location',
      'location1',
      '--data-dir',
      dir,
    );
    expect(without).toMatchObject({ code: 4, out: expect.stringContaining('license.token_unusable') });
    const agent = new Agent({ url, license: 'KEY-1', location: 'location1', dataDir: dir });
    cleanup.add(() => agent.stop().catch(() => {}));
    await agent.start();
    await until(async () => (await readFile(join(dir, 'device-token.json'), 'utf8')).includes('token-1'));
  });
});

it('a response that never ends is cut off', async () => {
  let sent = 0;
  let open = 0;
  const server = createServer((request, response) => {
    open++;
    response.on('close', () => open--);
    request.resume();
    response.writeHead(201);
    const part = Buffer.alloc(65_536, ' ');
    const send = (): void => {
      while (!response.destroyed && response.write(part)) sent += part.length;
      response.once('drain', send);
    };
    send();
  });
  cleanup.add(() => closeHttp(server));
  const url = `http://127.0.0.1:${await listen(server)}`;
  const dataDir = await tempDir(cleanup);
  const enrolment = await openEnrolment(
    { url, dataDir, license: 'KEY-1', deviceId: undefined },
    '26.1',
    silentLog,
  );
  const file = join(dataDir, 'file');
  await writeFile(file, 'x');
  const uploads = createUploads(url, async () => 'token');
  expect(await enrolment.activate()).toMatchObject({ ok: false, final: false });
  expect(await enrolment.pair('K7QF-3M9X')).toMatchObject({ ok: false, final: false });
  const { signal } = new AbortController();
  expect(await uploads.upload({ path: file, name: 'a', mime: 'text/plain' }, signal)).toMatchObject({
    ok: false,
    final: false,
  });
  await saveToken(dataDir, { url, token: 'token', license: '' });
  await enrolment.deactivate();
  await until(() => open === 0);
  expect(sent).toBeLessThan(20 * MB);
});

describe('an http: address of another machine', () => {
  it.each([
    ['http://bridge.example.com/path', true],
    ['http://10.0.0.7:4600', true],
    ['http://localhost.example.com', true],
    ['http://[fe80::1]', true],
    ['https://bridge.example.com', false],
    ['http://localhost:4600', false],
    ['http://127.0.0.2:4600', false],
    ['http://[::1]:4600', false],
  ])('%s is reported: %s', (url, isReported) => {
    expect(unencryptedLink(url) !== undefined).toBe(isReported);
  });

  it('is warned of when the Mac is paired or activated, at each start and by doctor', async () => {
    const scripted = await service();
    scripted.activations = [{ status: 201, body: { locationId: 'location1' } }];
    // Reaches this machine, and is not a loopback address.
    const url = scripted.url.replace('127.0.0.1', '0.0.0.0');
    const dir = await tempDir(cleanup);
    const own = ['--data-dir', dir];
    const paired = await command('pair', `K7QF-3M9X@${url}`, ...own);
    expect(paired).toMatchObject({ code: 0, err: expect.stringContaining('is not encrypted') });
    expect(JSON.parse(paired.err)).toEqual({ warning: expect.stringContaining('https:// address') });
    const activated = await command('activate', '--url', url, '--license', 'KEY-1', ...own);
    expect(activated.err).toContain('is not encrypted');
    expect((await command('doctor', '--simulate', ...own)).out).toContain('is not encrypted');
    const agent = new Agent({ url, license: 'KEY-1', location: 'location1', dataDir: dir });
    cleanup.add(() => agent.stop().catch(() => {}));
    await agent.start();
    expect(JSON.stringify(agent.logs)).toContain('link.unencrypted');
  });
});
