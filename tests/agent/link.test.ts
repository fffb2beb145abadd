import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { createCleanup } from '@footbridge/testkit/cleanup';
import { FakeClock } from '@footbridge/testkit/fake-clock';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { ANNA, person, runAgent } from './running-agent.ts';
import { ScriptedService } from './scripted-service.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

describe('registration', () => {
  it('is the first frame and names location, agent and macOS version', async () => {
    const { service, logs } = await runAgent(cleanup, { env: { FOOTBRIDGE_MACOS: '15.6' } });
    expect(service.registrations).toMatchObject([
      { locationId: 'location1', os: { name: 'macOS', version: '15.6' }, agent: { version: '0.1.0' } },
    ]);
    await until(() => logs.some((line) => line.includes('"msg":"registered"') && line.includes('location1')));
    expect(service.invalid).toEqual([]);
  });

  it('M7 uses the license key once, keeps the device id, and saves the token readable by its owner alone', async () => {
    const first = await runAgent(cleanup);
    const { service, config } = first;
    await first.agent.stop();
    await runAgent(cleanup, { service, dataDir: config.dataDir });
    expect(service.activated).toHaveLength(1);
    expect(service.activated[0]).toMatchObject({
      licenseKey: 'LICENSE-KEY',
      osVersion: '26.1',
      appVersion: '0.1.0',
    });
    const file = join(config.dataDir, 'device-token.json');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readFile(file, 'utf8')).not.toContain('LICENSE-KEY');
    expect((await stat(config.dataDir)).mode & 0o777).toBe(0o700);
  });

  it('M7 renews a rejected token once with the license key', async () => {
    const { service, agent, config } = await runAgent(cleanup);
    await agent.stop();
    service.tokens.clear();
    await runAgent(cleanup, { service, dataDir: config.dataDir });
    expect(service.activated).toHaveLength(2);
    expect(service.activated[1]?.['deviceId']).toBe(service.activated[0]?.['deviceId']);
  });

  it('M7 stays away after a 403, for which the channel allows an empty body', async () => {
    const service = await new ScriptedService().start();
    cleanup.add(() => service.stop());
    service.upgradeRejections = [{ status: 403, page: '' }];
    const { agent } = await runAgent(cleanup, { service, wait: false });
    expect(await agent.ended).toMatchObject({ state: 'away', code: 4503 });
  });

  it('ends when a new token is rejected too', async () => {
    const service = await new ScriptedService().start();
    cleanup.add(() => service.stop());
    service.upgradeRejections = [{ status: 401 }, { status: 401 }, { status: 401 }];
    const { agent } = await runAgent(cleanup, { service, wait: false });
    expect(await agent.ended).toMatchObject({ state: 'away', code: 4503 });
    expect(service.activated).toHaveLength(2);
  });

  it.each([
    [403, 'LICENSE_INVALID'],
    [403, 'LICENSE_SUSPENDED'],
    [409, 'SEATS_EXHAUSTED'],
  ])('M7 ends when the activation fails with %s %s', async (status, code) => {
    const service = await new ScriptedService().start();
    cleanup.add(() => service.stop());
    service.activations = [{ status, body: { code, seats: { used: 2, max: 2 } } }];
    const { agent } = await runAgent(cleanup, { service, wait: false });
    expect(await agent.ended).toMatchObject({ state: 'away', code });
    expect(service.activated).toHaveLength(1);
  });

  it('retries an activation that fails temporarily', async () => {
    const service = await new ScriptedService().start();
    cleanup.add(() => service.stop());
    service.activations = [
      { status: 503, body: {} },
      { status: 429, body: {} },
      { status: 201, body: {} },
    ];
    await runAgent(cleanup, { service });
    expect(service.activated).toHaveLength(3);
  });

  it.each([401, 403, 404])('M7 retries an activation that a proxy answers with %s', async (status) => {
    const service = await new ScriptedService().start();
    cleanup.add(() => service.stop());
    service.activations = [
      { status, body: {} },
      { status: 201, body: {} },
    ];
    await runAgent(cleanup, { service });
    expect(service.activated).toHaveLength(2);
  });

  it('waits ten minutes at most before it retries an activation', async () => {
    const service = await new ScriptedService().start();
    cleanup.add(() => service.stop());
    const body = { code: 'TOO_MANY_REQUESTS' };
    service.activations = [{ status: 429, headers: { 'Retry-After': '3000000' }, body }];
    const { logs } = await runAgent(cleanup, { service, wait: false });
    const line = await until(() => logs.find((text) => text.includes('link.not_connected')));
    expect(JSON.parse(line)).toMatchObject({ waitMs: 600_000 });
  });
});

describe('the link', () => {
  it.each([[1001], [1006], [1011], [1012], [4008], [4013], [4029], [4000], [4499]])(
    'reconnects after close code %s',
    async (code) => {
      const { service } = await runAgent(cleanup);
      if (code === 1006) service.cut();
      else service.close(code, code === 4029 ? '0.05' : 'why');
      await service.registered(2);
      expect(service.activated).toHaveLength(1);
    },
  );

  it.each([
    [4501, /another Mac/],
    [4503, /suspended|revoked/],
    // The service says which of several reasons it is.
    [4504, /"because":"because"/],
    [4777, /4777/],
  ])('M1 stays away after close code %s and logs the reason once', async (code, why) => {
    const { service, agent, logs } = await runAgent(cleanup);
    service.close(code, 'because');
    expect(await agent.ended).toMatchObject({ state: 'away', code });
    expect(service.registrations).toHaveLength(1);
    const lines = logs.filter((line) => line.includes('staying away'));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(why);
  });

  it('waits for the seconds in the close reason of a contended location', async () => {
    const clock = new FakeClock(Date.now());
    const { service, logs } = await runAgent(cleanup, { deps: { clock } });
    service.close(4029, '90');
    await until(() => logs.some((line) => line.includes('"waitMs":90000')));
    await clock.advance(89_999);
    expect(service.registrations).toHaveLength(1);
    await clock.advance(1);
    await service.registered(2);
  });

  it('waits after a protocol violation', async () => {
    const clock = new FakeClock(Date.now());
    const { service, logs } = await runAgent(cleanup, { deps: { clock, link: { protocolWaitMs: 70_000 } } });
    service.close(4000, 'bad frame');
    await until(() => logs.some((line) => line.includes('"waitMs":70000')));
    await clock.advance(69_999);
    expect(service.registrations).toHaveLength(1);
    await clock.advance(1);
    await service.registered(2);
  });

  it.each([[429], [503], [500]])('reconnects after status %s at the upgrade', async (status) => {
    const service = await new ScriptedService().start();
    cleanup.add(() => service.stop());
    service.upgradeRejections = [{ status, headers: { 'Retry-After': '0' } }, { status }];
    await runAgent(cleanup, { service });
  });

  it.each([
    [403, 4503],
    [426, 4500],
  ])('stays away after status %s at the upgrade', async (status, code) => {
    const service = await new ScriptedService().start();
    cleanup.add(() => service.stop());
    service.upgradeRejections = [{ status }];
    const { agent } = await runAgent(cleanup, { service, wait: false });
    expect(await agent.ended).toMatchObject({ state: 'away', code });
  });

  it.each([401, 403, 404, 426])(
    'reconnects after status %s of a proxy at the upgrade, and keeps its token',
    async (status) => {
      const service = await new ScriptedService().start();
      cleanup.add(() => service.stop());
      const page = '<html>Sign in to the network</html>';
      service.upgradeRejections = [
        { status, page },
        { status, page: '{"error":"no"}' },
      ];
      await runAgent(cleanup, { service });
      expect(service.activated).toHaveLength(1);
    },
  );

  it('reconnects after three missed pings', async () => {
    const clock = new FakeClock(Date.now());
    const link = { heartbeatMs: 15_000, backoffBaseMs: 0 };
    const { service } = await runAgent(cleanup, { deps: { clock, link } });
    for (let round = 0; round < 5; round += 1) {
      await service.settled();
      await clock.advance(44_999);
    }
    expect(service.connected).toBe(1);
    expect(service.registrations).toHaveLength(1);
    await clock.advance(1);
    await service.registered(2);
  });

  it('reconnects when it is not registered in time', async () => {
    const service = await new ScriptedService().start();
    cleanup.add(() => service.stop());
    service.autoRegister = false;
    await runAgent(cleanup, { service, wait: false, deps: { link: { heartbeatMs: 30 } } });
    await service.registered(2);
  });

  it('reconnects at once after the Mac slept', async () => {
    const clock = new FakeClock(Date.now());
    const { service } = await runAgent(cleanup, { deps: { clock, link: { wakeCheckMs: 5_000 } } });
    clock.advanceWallClock(3600_000);
    await clock.advance(5_000);
    await service.registered(2);
    await clock.advance(40_000);
    await service.settled();
    expect(service.registrations).toHaveLength(2);
  });

  it('does not mistake clock drift for sleep', async () => {
    const clock = new FakeClock(Date.now());
    const { service } = await runAgent(cleanup, { deps: { clock, link: { wakeCheckMs: 5_000 } } });
    for (let check = 0; check < 8; check += 1) {
      clock.advanceWallClock(9_000);
      await clock.advance(5_000);
    }
    await service.settled();
    expect(service.registrations).toHaveLength(1);
  });

  it('delivers messages that arrived while the service was down', async () => {
    const { service, play } = await runAgent(cleanup);
    const { port } = service;
    await service.stop();
    const { guid } = await play(person(ANNA, 'say'), { text: 'While you were away' });
    const back = new ScriptedService();
    for (const token of service.tokens) back.tokens.add(token);
    await back.start(port);
    cleanup.add(() => back.stop());
    expect((await back.messageOf(guid)).text).toBe('While you were away');
  });
});

describe('frames', () => {
  it('are sent again after a reconnect until they are acknowledged, oldest first', async () => {
    const { service } = await runAgent(cleanup);
    service.autoAck = false;
    const frames = ['a', 'b', 'c'].map((message) => service.send({ message }));
    await service.statusOf(frames[2]?.requestId ?? '');
    const [first, second, third] = service.seqs;
    service.ack(second ?? 0);
    service.cut();
    await service.registered(2);
    await until(() => service.seqs.length >= 5);
    expect(service.seqs.slice(3)).toEqual([first, third]);
    service.ack(first ?? 0, 'skipped');
    service.ack(third ?? 0);
    service.cut();
    await service.registered(3);
    await service.settled();
    expect(service.seqs).toHaveLength(5);
  });

  it('in flight never exceed the window', async () => {
    const service = await new ScriptedService().start();
    cleanup.add(() => service.stop());
    service.window = 4;
    service.autoAck = false;
    const { logs } = await runAgent(cleanup, { service });
    const frames = Array.from({ length: 12 }, () => service.send({}));
    await until(() => logs.filter((line) => line.includes('"msg":"job ended"')).length === frames.length);
    await service.settled();
    expect(service.unacked.size).toBe(4);
    while (service.statuses.length < frames.length) {
      for (const seq of service.unacked) service.ack(seq);
      await service.settled();
    }
    expect(service.maxUnacked).toBe(4);
    expect(service.seqs).toEqual([...service.seqs].sort((a, b) => a - b));
  });

  it('are kept after a rejection, and redelivered with a new seq', async () => {
    const { service, play } = await runAgent(cleanup);
    service.autoAck = false;
    const { guid } = await play(person(ANNA, 'say'), { text: 'Hello' });
    const { seq } = await service.messageOf(guid);
    service.ack(seq, 'rejected', 'no such contact');
    service.cut();
    await service.registered(2);
    await service.settled();
    expect(service.received).toHaveLength(1);
    service.redeliver(seq);
    await until(() => service.received.length === 2);
    expect(service.received[1]).toMatchObject({ guid, text: 'Hello' });
    expect(service.received[1]?.seq).toBeGreaterThan(seq);
    service.redeliver(seq);
    service.redeliver(12345);
    await service.settled();
    expect(service.received).toHaveLength(2);
  });

  it('are set aside when they are too large for the service, and the others are sent', async () => {
    const { service, play, logs } = await runAgent(cleanup);
    service.autoAck = false;
    const big = await play(person(ANNA, 'say'), { text: 'x'.repeat(50_000) });
    await service.messageOf(big.guid);
    const small = await play(person(ANNA, 'say'), { text: 'small' });
    await service.messageOf(small.guid);
    service.received.length = 0;
    service.autoAck = true;
    service.close(1009, 'too large');
    await service.registered(2);
    await service.messageOf(small.guid);
    expect(service.received.map((frame) => frame.guid)).toEqual([small.guid]);
    expect(logs.some((line) => line.includes('set aside'))).toBe(true);
  });

  it('carry a truncated text when it exceeds the limit', async () => {
    const { service, play } = await runAgent(cleanup);
    // Below the limit of characters, above that of bytes.
    const { guid } = await play(person(ANNA, 'say'), { text: '€'.repeat(99_000) });
    const { text } = await service.messageOf(guid);
    expect(text.length).toBeGreaterThan(40_000);
    expect(text.replaceAll('€', '')).toBe('');
  });

  it('are ignored when they are unknown or invalid', async () => {
    const { service } = await runAgent(cleanup);
    for (const text of [
      '{"type":"weather"}',
      'no json',
      '[]',
      '{"type":"send"}',
      '{"type":"ack","seq":-1}',
    ]) {
      service.write(text);
    }
    expect((await service.statusOf(service.send({}).requestId)).status).toBe('delivered');
    expect(service.registrations).toHaveLength(1);
  });
});
