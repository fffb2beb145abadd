import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { TestBridge, LOCATION, PHONE } from '../contract/test-bridge.ts';

const MAIN = join(import.meta.dirname, '../../packages/cli/src/main.ts');

let testBridge: TestBridge | undefined;
const children: { kill(): unknown }[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) child.kill();
  await testBridge?.stop();
  testBridge = undefined;
});

function run(args: readonly string[]) {
  const env = {
    PATH: process.env['PATH'],
    NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
    FOOTBRIDGE_OPERATOR_URL: testBridge?.bridge.operatorUrl ?? 'http://127.0.0.1:1',
    OPERATOR_TOKEN: testBridge?.bridge.operatorToken ?? 'none-at-all-here',
  };
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', MAIN, ...args], { env });
  children.push(child);
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (data: Buffer) => (stdout += data.toString()));
  child.stderr.on('data', (data: Buffer) => (stderr += data.toString()));
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const lines = () =>
    stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  return {
    ended,
    lines,
    stdout: () => stdout,
    stderr: () => stderr,
    closeStdout: () => child.stdout.destroy(),
  };
}

describe('footbridge explain', () => {
  it('ends quietly when its reader, such as head, closes the pipe', async () => {
    const { ended, stderr, closeStdout } = run(['explain']);
    closeStdout();
    expect(await ended).toBe(0);
    expect(stderr()).toBe('');
  });

  it.skipIf(!existsSync('/dev/full'))('ends with one line when the disk of its output is full', () => {
    const command = [process.execPath, '--disable-warning=ExperimentalWarning', MAIN, 'explain'];
    const { status, stderr } = spawnSync('sh', ['-c', '"$0" "$@" > /dev/full', ...command], {
      encoding: 'utf8',
    });
    expect(status).toBe(1);
    expect(JSON.parse(stderr)).toMatchObject({ error: 'the output cannot be written: ENOSPC' });
  });

  it('V2 explains a code of the catalogue without a running service', async () => {
    const { ended, lines } = run(['explain', 'rate_limited']);
    expect(await ended).toBe(0);
    expect(lines()).toMatchObject([{ code: 'RATE_LIMITED', channel: 'status', retry: 'yes' }]);
  });

  it.each(['401', 'invalid signature'])('V2 explains the 401 of a webhook by %j', async (name) => {
    const { ended, lines } = run(['explain', name]);
    expect(await ended).toBe(0);
    expect(lines()[0]).toMatchObject({ channel: 'webhook', http: 401, error: 'Invalid signature' });
  });

  it('V2 explains every place where a code occurs', async () => {
    const { ended, lines } = run(['explain', 'OAUTH_EXCHANGE_FAILED']);
    expect(await ended).toBe(0);
    expect(lines().map(({ http }) => http)).toEqual([400, 500]);
  });

  it('suggests the nearest code for an unknown one', async () => {
    const { ended, stderr } = run(['explain', 'EMOJI']);
    expect(await ended).toBe(5);
    expect(JSON.parse(stderr())).toMatchObject({ next: 'footbridge explain EMOJI_NOT_IN_RECENTS' });
  });

  it('lists all codes', async () => {
    const { ended, lines } = run(['explain']);
    expect(await ended).toBe(0);
    expect(lines().length).toBeGreaterThan(30);
  });
});

describe('footbridge show and tail', () => {
  it('show prints the steps of a message, and tail prints past and new messages', async () => {
    testBridge = await TestBridge.start();
    const mac = await testBridge.mac();
    const live = run(['tail', '--since', '1h', '--status', 'failed']);
    const { answer } = await testBridge.webhook({ messageId: 'm1', message: 'canary text' });
    const { requestId } = answer as { requestId: string };
    await mac.nextFrame('send');
    // The CRM has the status a moment before the journal has recorded it.
    await until(async () => {
      const { body } = (await testBridge?.operator('GET', `/operator/messages/${requestId}`)) ?? {};
      return JSON.stringify(body).includes('status_sent');
    });
    const error = { code: 'EMOJI_NOT_IN_RECENTS', message: 'No such glyph.' };
    await mac.ack(mac.status({ requestId, messageId: 'm1', status: 'failed', error, guid: 'guid-1' }));
    // The message is printed once, whether it happened before or after the command connected.
    await until(() => live.lines().length > 0);
    expect(live.lines()[0]).toMatchObject({
      id: requestId,
      status: 'failed',
      code: 'EMOJI_NOT_IN_RECENTS',
      locationId: LOCATION,
    });

    const shown = run(['show', 'm1']);
    expect(await shown.ended).toBe(0);
    const steps = ['accepted', 'written', 'status_sent', 'mac_reported', 'status_sent'];
    expect(shown.lines()).toMatchObject([{ messageGuid: 'guid-1', steps: steps.map((step) => ({ step })) }]);
    const past = run([
      'tail',
      '--since',
      '1h',
      '--no-follow',
      '--dir',
      'out',
      '--code',
      'EMOJI_NOT_IN_RECENTS',
    ]);
    expect(await past.ended).toBe(0);
    expect(past.lines()).toMatchObject([{ id: requestId, status: 'failed' }]);
    const all = run(['tail', '--steps']);
    await until(
      async () => {
        await testBridge?.webhook({ messageId: 'm2' });
        return all.lines().some(({ step }) => step === 'written');
      },
      { every: 300 },
    );
    expect(live.lines()).toHaveLength(1);
    const output = [live, all, shown, past].map((one) => one.stdout() + one.stderr()).join('\n');
    expect(output).not.toContain('canary');
    expect(output).not.toContain(PHONE);
  });

  it('show prints every request that carried a message, and that one of them was delivered', async () => {
    testBridge = await TestBridge.start();
    const mac = await testBridge.mac();
    const { answer } = await testBridge.webhook({ messageId: 'm1', message: 'canary text' });
    const { requestId } = answer as { requestId: string };
    await mac.nextFrame('send');
    await mac.ack(mac.status({ requestId, messageId: 'm1', status: 'delivered' }));
    mac.terminate();
    // The CRM repeats the request after the Mac has gone.
    await until(
      async () => (await testBridge?.webhook({ messageId: 'm1', message: 'canary text' }))?.status === 404,
    );

    const shown = run(['show', 'm1']);
    expect(await shown.ended).toBe(0);
    const [history] = shown.lines();
    expect(history).toMatchObject({
      outcome: 'delivered',
      status: 'rejected',
      code: 'LOCATION_NOT_CONNECTED',
    });
    const requests = history?.['requests'] as Record<string, unknown>[];
    expect(requests[0]).toMatchObject({ id: requestId, status: 'delivered' });
    expect(requests.at(-1)).toMatchObject({ status: 'rejected', code: 'LOCATION_NOT_CONNECTED' });
    expect(history?.['sentence']).toBe(`Delivered, request 1 of ${requests.length}.`);
  });

  it('I4 both report that a location has no token when its messages wait for one', async () => {
    testBridge = await TestBridge.start({ oauth: 'off' });
    const mac = await testBridge.mac();
    mac.received({ sender: '+14155550177', text: 'canary text', guid: 'guid-waiting' });
    await until(async () => {
      const { body } = (await testBridge?.operator('GET', '/operator/messages/guid-waiting')) ?? {};
      return Array.isArray(body?.['steps']) && body['steps'].length > 1;
    });
    const shown = run(['show', 'guid-waiting']);
    expect(await shown.ended).toBe(0);
    expect(shown.lines()).toMatchObject([
      {
        outcome: 'unknown',
        status: 'received',
        code: 'NO_TOKEN',
        sentence: `Not in the CRM yet: ${LOCATION} has no token. Install the app in the location. Without OAuth, set CRM_PIT_TOKENS.`,
        steps: [{ step: 'received' }, { step: 'no_token' }],
      },
    ]);
    const listed = run(['tail', '--since', '1h', '--no-follow', '--code', 'NO_TOKEN']);
    expect(await listed.ended).toBe(0);
    expect(listed.lines()).toHaveLength(1);
    expect(testBridge.log).toMatch(
      /"event":"inbound\.no_token"[^\n]*"locationId":"locA+1"[^\n]*CRM_PIT_TOKENS/,
    );
    expect(testBridge.log).not.toContain('canary');
  });

  it('exit with their own code for an invalid option and for a service that is not running', async () => {
    for (const args of [
      ['tail', '--since', 'yesterday'],
      ['tail', '--dir', 'up'],
    ])
      expect(await run(args).ended).toBe(2);
    expect(await run(['show', 'x']).ended).toBe(7);
  });

  it('show exits with 5 when no message has the id', async () => {
    testBridge = await TestBridge.start({ oauth: 'off' });
    expect(await run(['show', 'nothing']).ended).toBe(5);
  });
});

describe('footbridge redeliver', () => {
  it('I2 makes the Mac resend a message that it kept', async () => {
    testBridge = await TestBridge.start({ env: { CRM_CREATE_CONTACTS: 'false' } });
    const mac = await testBridge.mac();
    const message = { sender: '+14155550177', text: 'Hi', guid: 'guid-unknown' };
    const seq = mac.received(message);
    expect(await mac.ack(seq)).toMatchObject({ outcome: 'rejected' });
    const asked = run(['redeliver', 'guid-unknown']);
    expect(await asked.ended).toBe(0);
    expect(asked.lines()).toMatchObject([{ locationId: LOCATION, seq }]);
    expect(await mac.nextFrame('redeliver')).toEqual({ type: 'redeliver', seq });

    testBridge.crm.addContact({ locationId: LOCATION, phone: '+14155550177' });
    expect(await mac.ack(mac.received(message))).toMatchObject({ outcome: 'delivered' });
    const late = run(['redeliver', 'guid-unknown']);
    expect(await late.ended).toBe(1);
    expect(late.stderr()).toContain('Only an undelivered inbound message');
    expect(await run(['redeliver', 'nothing']).ended).toBe(5);
  });
});
