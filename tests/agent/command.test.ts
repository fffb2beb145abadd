import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { Agent } from '@footbridge/testkit/agent';
import { tempDir, createCleanup } from '@footbridge/testkit/cleanup';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { isLocked, journalPath, lockDataDir } from '@footbridge/agent/edges/data-dir';
import { openAgentJournal } from '@footbridge/agent/open/journal';
import { MIGRATIONS } from '@footbridge/agent/journal/sqlite-schema';
import { command } from './run-command.ts';
import { ScriptedService } from './scripted-service.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

/** Longer than any test: the job waits until the delay is changed. */
const HELD_MS = 3_600_000;

async function service(): Promise<ScriptedService> {
  const started = await new ScriptedService().start();
  cleanup.add(() => started.stop());
  return started;
}

const started = async (url: string, env: Record<string, string> = {}): Promise<Agent> => {
  const agent = new Agent({ url, license: 'KEY-1', location: 'location1', env });
  cleanup.add(() => agent.stop().catch(() => {}));
  await agent.start();
  return agent;
};

describe('footbridge-agent', () => {
  it('M7 activate takes a seat and deactivate releases it', async () => {
    const { url, tokens, activated } = await service();
    const dir = await tempDir(cleanup);
    const common = ['--url', url, '--data-dir', dir];
    const taken = await command(
      'activate',
      ...common,
      '--license',
      'KEY-1',
      '--device-id',
      'mac-in-the-office',
    );
    expect(taken).toMatchObject({ code: 0, out: expect.stringContaining('"used":1') });
    expect(activated).toMatchObject([{ licenseKey: 'KEY-1', deviceId: 'mac-in-the-office' }]);
    expect(tokens.size).toBe(1);
    expect((await command('deactivate', ...common)).code).toBe(0);
    expect(tokens.size).toBe(0);
    expect((await command('deactivate', ...common)).code).toBe(1);
  });

  it('M7 activate reports a failure by exit code and message', async () => {
    const scripted = await service();
    const dir = await tempDir(cleanup);
    scripted.activations = [{ status: 409, body: { code: 'SEATS_EXHAUSTED', seats: { used: 3, max: 3 } } }];
    const full = await command('activate', '--url', scripted.url, '--data-dir', dir, '--license', 'KEY-1');
    expect(full).toMatchObject({ code: 4, err: expect.stringContaining('3 of 3') });
    const gone = await command(
      'activate',
      '--url',
      'http://127.0.0.1:1',
      '--data-dir',
      dir,
      '--license',
      'KEY-1',
    );
    expect(gone.code).toBe(7);
    expect((await command('activate', '--license', 'KEY-1', '--data-dir', dir)).code).toBe(3);
    expect((await command('activate', '--url', scripted.url, '--data-dir', dir)).code).toBe(4);
  });

  it('M12 pair exchanges a code for a token, and later starts need no settings', async () => {
    const scripted = await service();
    scripted.activations = [{ status: 201, body: { locationId: 'location1', seats: { used: 1, max: 1 } } }];
    const dir = ['--data-dir', await tempDir(cleanup)];
    const paired = await command('pair', `K7QF-3M9X@${scripted.url}`, ...dir);
    expect(paired.code).toBe(0);
    expect(JSON.parse(paired.out)).toEqual({ paired: true, url: scripted.url, location: 'location1' });
    expect(scripted.activated).toMatchObject([{ code: 'K7QF-3M9X', deviceId: expect.any(String) }]);
    const doctor = await command('doctor', '--simulate', ...dir);
    expect(doctor).toMatchObject({ code: 0, out: expect.stringContaining('url and location are set') });
    for (const name of ['settings.json', 'device-token.json'])
      expect((await stat(join(dir[1] ?? '', name))).mode & 0o077).toBe(0);
  });

  it.each([
    ['PAIRING_CODE_INVALID', 403, 4, 'is wrong'],
    ['PAIRING_CODE_USED', 403, 4, 'was already used'],
    ['PAIRING_CODE_EXPIRED', 403, 4, 'is older than 15 minutes'],
    ['TOO_MANY_REQUESTS', 429, 7, 'Wait a minute'],
  ])('M12 pair reports %s in one line', async (code, status, exitCode, words) => {
    const scripted = await service();
    scripted.activations = [{ status, body: { code } }];
    const dir = await tempDir(cleanup);
    const failed = await command('pair', `K7QF-3M9X@${scripted.url}`, '--data-dir', dir);
    expect(failed.code).toBe(exitCode);
    expect(JSON.parse(failed.err)).toEqual({ error: expect.stringContaining(words), code });
    expect((await command('pair', 'K7QF', '--data-dir', dir)).code).toBe(2);
    expect((await command('pair', 'K7QF-3M9X', '--data-dir', dir)).code).toBe(2);
    expect(await readdir(dir)).toEqual(['device-id']);
  });

  it('run rejects missing settings, unknown commands and unknown options', async () => {
    const dir = await tempDir(cleanup);
    expect(await command('run')).toMatchObject({ code: 3, err: expect.stringContaining('FOOTBRIDGE_URL') });
    const real = await command('run', '--url', 'http://127.0.0.1:1', '--location', 'L', '--data-dir', dir);
    expect(real).toMatchObject({ code: 3, err: expect.stringContaining('--simulate') });
    expect((await command('fly')).code).toBe(2);
    expect((await command('run', '--nonsense')).code).toBe(2);
    expect(await command('--version')).toMatchObject({ code: 0, out: '0.1.0\n' });
  });

  it('run names --control-port when another simulator uses the port', async () => {
    const { url, port } = await service();
    const dir = await tempDir(cleanup);
    const args = ['--simulate', '--control-port', String(port), '--data-dir', dir];
    const second = await command('run', '--url', url, '--location', 'L', ...args);
    expect(second.code).toBe(3);
    expect(JSON.parse(second.err)).toEqual({ error: expect.stringContaining('--control-port') });
    expect(isLocked(dir)).toBe(false);
  });

  it('run shuts down gracefully after a signal that arrives while it starts', async () => {
    const scripted = await service();
    const agent = new Agent({ url: scripted.url, license: 'KEY-1', location: 'location1' });
    cleanup.add(() => agent.stop());
    const starting = agent.start().catch(() => undefined);
    await until(() => agent.logs.some(({ msg }) => msg === 'starting'), { every: 1 });
    expect(await agent.halt()).toEqual({ code: 0, signal: null });
    await starting;
    expect(agent.logs.at(-1)).toMatchObject({ msg: 'stopped', signal: 'SIGTERM' });
  });

  it('run ends when the device token cannot be saved, so that launchd restarts the agent', async () => {
    const { url } = await service();
    const dir = await tempDir(cleanup);
    await mkdir(join(dir, 'device-token.json.new'));
    const args = ['--simulate', '--control-port', '0', '--data-dir', dir];
    const failed = await command('run', '--url', url, '--license', 'KEY-1', '--location', 'L', ...args);
    expect(failed).toMatchObject({ code: 70, err: expect.stringContaining('EISDIR') });
    expect(failed.out).toContain('agent.failed');
    expect(isLocked(dir)).toBe(false);
    expect(await readdir(dir)).not.toContain('stay-away');
  });

  it('run logs to standard output when its log file cannot be opened', async () => {
    const scripted = await service();
    const folder = join(await tempDir(cleanup), 'logs');
    await writeFile(folder, '');
    const agent = await started(scripted.url, { FOOTBRIDGE_LOG_FILE: join(folder, 'agent.log') });
    await scripted.registered();
    expect(agent.logs[0]).toMatchObject({ event: 'log.file_not_opened', level: 'error' });
  });

  it('run finishes the job in progress before it stops', async () => {
    const scripted = await service();
    const agent = await started(scripted.url);
    await scripted.registered();
    await agent.change({ delayMs: HELD_MS });
    const { requestId } = scripted.send({});
    await until(async () => (await agent.simulatorState()).queue === 1);
    const halted = agent.halt();
    await agent.logged('stopping');
    await agent.change({ delayMs: 0 });
    expect(await halted).toEqual({ code: 0, signal: null });
    expect((await scripted.statusOf(requestId)).status).toBe('delivered');
  });

  it.each([
    [4501, 51],
    [4503, 53],
    [4504, 54],
    [4599, 50],
  ])('M1 run exits after close code %i with exit code %i', async (closeCode, exitCode) => {
    const scripted = await service();
    const agent = await started(scripted.url);
    await scripted.registered();
    scripted.close(closeCode, 'go');
    expect((await agent.exited).code).toBe(exitCode);
    expect(agent.logs.filter((line) => line.msg.startsWith('staying away'))).toHaveLength(1);
  });

  it('run logs a health line', async () => {
    const scripted = await service();
    const agent = await started(scripted.url, { FOOTBRIDGE_HEALTH_SEC: '0.2' });
    await scripted.registered();
    await agent.registered();
    const line = await agent.logsNext('health');
    expect(line).toMatchObject({
      link: 'registered',
      queue: 0,
      unacknowledged: 0,
      rejected: 0,
      inboundWaiting: 0,
    });
  });

  it('T56 run opens no debugger on SIGUSR1', async () => {
    const scripted = await service();
    const agent = await started(scripted.url, { FOOTBRIDGE_HEALTH_SEC: '0.2' });
    await scripted.registered();
    process.kill(agent.pid, 'SIGUSR1');
    await agent.logsNext('health');
    expect(agent.logs.filter(({ msg }) => msg.includes('Debugger'))).toEqual([]);
  });

  it('status ignores the link state of an earlier process while the agent starts', async () => {
    const scripted = await service();
    const agent = await started(scripted.url);
    const dir = agent.dataDir;
    const isAble = async () =>
      JSON.parse((await command('status', '--data-dir', dir)).out).ableToText as boolean;
    expect(await isAble()).toBe(true);
    await agent.kill9();
    const unlock = lockDataDir(dir);
    cleanup.add(unlock);
    expect(await isAble()).toBe(false);
  });

  it('status shows the state of a running and of a stopped agent', async () => {
    const scripted = await service();
    const agent = await started(scripted.url);
    await scripted.registered();
    await agent.registered();
    const running = await command('status', '--data-dir', agent.dataDir);
    expect(running.code).toBe(0);
    expect(JSON.parse(running.out)).toMatchObject({
      running: true,
      link: { state: 'registered' },
      store: 'readable',
      queue: 0,
    });
    scripted.close(4501);
    await agent.exited;
    const stopped = await command('status', '--data-dir', agent.dataDir);
    expect(stopped.code).toBe(1);
    expect(JSON.parse(stopped.out)).toMatchObject({
      running: false,
      link: { state: 'away', code: 4501, because: 'another Mac took over this location' },
    });
    expect((await command('status', '--data-dir', join(agent.dataDir, 'empty'))).code).toBe(1);
  });

  it('M9 run refuses another location in the same data folder, and move changes it after a confirmation', async () => {
    const scripted = await service();
    const agent = await started(scripted.url);
    await scripted.registered();
    await agent.change({ delayMs: HELD_MS });
    const { requestId } = scripted.send({});
    await until(async () => (await agent.simulatorState()).queue === 1);
    const dir = ['--data-dir', agent.dataDir];
    const move = ['move', 'location2', ...dir];
    expect(await command(...move, '--yes')).toMatchObject({
      code: 3,
      err: expect.stringContaining(`Another agent is running with ${agent.dataDir} (process ${agent.pid})`),
    });
    await agent.kill9();

    const run = ['run', '--url', scripted.url, ...dir, '--simulate', '--control-port', '0', '--location'];
    expect(await command(...run, 'location2')).toMatchObject({
      code: 3,
      err: expect.stringMatching(/serves location1, not location2.*footbridge-agent move location2/),
    });
    const doctor = await command('doctor', '--url', scripted.url, '--location', 'location2', ...dir);
    expect(doctor).toMatchObject({
      code: 9,
      out: expect.stringContaining('footbridge-agent move location2'),
    });
    expect(await command(...move)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/1 job.*stdin is not a terminal; pass --yes to confirm/),
    });
    expect((await command(...run, 'location2')).code).toBe(3);

    const moved = await command(...move, '--yes');
    expect([moved.code, JSON.parse(moved.out)]).toMatchObject([
      0,
      { location: 'location2', previous: 'location1', dropped: { queue: 1 } },
    ]);
    expect((await command(...run, 'location1')).code).toBe(3);
    const next = new Agent({
      url: scripted.url,
      license: 'KEY-1',
      location: 'location2',
      dataDir: agent.dataDir,
    });
    cleanup.add(() => next.stop());
    await next.start();
    await scripted.registered(2);
    expect(scripted.registrations.at(-1)).toMatchObject({ locationId: 'location2' });
    expect((await next.simulatorState()).queue).toBe(0);
    const later = scripted.send({});
    await scripted.statusOf(later.requestId);
    expect(scripted.statuses.map((status) => status.requestId)).not.toContain(requestId);
  });

  it('M9 move requires an agent in the data folder and a new location', async () => {
    const dir = await tempDir(cleanup);
    const none = await command('move', 'location2', '--yes', '--data-dir', dir);
    expect(none).toMatchObject({ code: 1, err: expect.stringContaining('There is no agent') });
    openAgentJournal(dir).close();
    expect((await command('move', 'location2', '--yes', '--data-dir', dir)).code).toBe(0);
    const same = await command('move', 'location2', '--data-dir', dir);
    expect(same).toMatchObject({ code: 0, out: expect.stringContaining('"previous":"location2"') });
    expect((await command('move', '--data-dir', dir)).code).toBe(2);
    expect((await command('move', ' ', '--yes', '--data-dir', dir)).code).toBe(3);
  });

  it('status, doctor and move leave the journal of an older agent in its schema', async () => {
    const dir = await tempDir(cleanup);
    const older = MIGRATIONS.length - 1;
    const db = new DatabaseSync(journalPath(dir));
    cleanup.add(() => db.close());
    db.exec(
      `PRAGMA journal_mode = WAL; ${MIGRATIONS.slice(0, older).join(';')}; PRAGMA user_version = ${older};
       INSERT INTO outbox (state, frame, changed_at) VALUES ('rejected', '', 0)`,
    );
    const schema = () => db.prepare('SELECT sql FROM sqlite_schema').all();
    const before = schema();
    const status = await command('status', '--data-dir', dir);
    expect(JSON.parse(status.out)).toMatchObject({ running: false, journal: 'writable', rejected: 1 });
    expect((await command('doctor', '--data-dir', dir, '--simulate')).out).toContain(
      '1 message rejected by the CRM',
    );
    expect(await command('move', 'location2', '--yes', '--data-dir', dir)).toMatchObject({
      code: 0,
      out: expect.stringContaining('"dropped":{"queue":0,"outbox":1}'),
    });
    expect(db.prepare('PRAGMA user_version').get()).toEqual({ user_version: older });
    expect(schema()).toEqual(before);
  });

  it('run stays away from the journal of a newer agent, and every command says to update', async () => {
    const dir = await tempDir(cleanup);
    openAgentJournal(dir).close();
    const db = new DatabaseSync(journalPath(dir));
    db.exec(`PRAGMA user_version = ${MIGRATIONS.length + 1}`);
    db.close();
    const before = await readFile(journalPath(dir));
    const common = ['--data-dir', dir, '--simulate'];
    const run = ['run', '--url', 'http://127.0.0.1:1', '--location', 'L', '--control-port', '0'];
    const words = /newer version of the agent.*npx footbridge-agent@latest update/;
    for (const args of [
      [...run, ...common],
      ['status', '--data-dir', dir],
      ['move', 'location2', '--yes', '--data-dir', dir],
    ])
      expect(await command(...args)).toMatchObject({ code: 3, err: expect.stringMatching(words) });
    expect(await readFile(join(dir, 'stay-away'), 'utf8')).toMatch(words);
    const doctor = await command('doctor', ...common);
    expect(JSON.parse(doctor.out).findings).toContainEqual({
      check: 'Journal',
      state: 'fail',
      sentence: 'written by a newer version of the agent',
      next: 'Run npx footbridge-agent@latest update',
      // The former names of `state` and `sentence`.
      verdict: 'failure',
      detail: 'written by a newer version of the agent',
    });
    expect(await readFile(journalPath(dir))).toEqual(before);
  });

  it.each([
    ['damaged', 'no database'.repeat(1000), /Stop the agent.*-wal.*is sent a second time/],
    ['not readable', undefined, /Free disk space.*Keep the file/],
  ])('doctor says what is lost without the journal when it is %s', async (_what, content, next) => {
    const dir = await tempDir(cleanup);
    if (content === undefined) await mkdir(journalPath(dir));
    else await writeFile(journalPath(dir), content);
    const { out } = await command('doctor', '--data-dir', dir, '--simulate');
    expect(JSON.parse(out).findings).toContainEqual(
      expect.objectContaining({
        check: 'Journal',
        state: 'fail',
        next: expect.stringMatching(next),
      }),
    );
  });

  it('doctor reports a log file that cannot be opened', async () => {
    const dir = await tempDir(cleanup);
    const logs = join(dir, 'logs');
    await writeFile(
      join(dir, 'settings.json'),
      JSON.stringify({ FOOTBRIDGE_LOG_FILE: join(logs, 'agent.log') }),
      { mode: 0o600 },
    );
    const logFinding = async () => {
      const { out } = await command('doctor', '--data-dir', dir, '--simulate');
      const { findings } = JSON.parse(out) as { findings: { check: string }[] };
      return findings.find(({ check }) => check === 'Log');
    };
    expect(await logFinding()).toMatchObject({ state: 'pass' });
    expect(existsSync(logs)).toBe(false);
    await writeFile(logs, '');
    expect(await logFinding()).toMatchObject({
      state: 'warn',
      sentence: expect.stringMatching(/agent.log cannot be opened.*is not a folder/),
      next: expect.stringContaining('restart the agent'),
    });
  });

  it('doctor examines BlueBubbles before the agent has a journal', async () => {
    const dir = await tempDir(cleanup);
    await writeFile(
      join(dir, 'settings.json'),
      JSON.stringify({ FOOTBRIDGE_ENGINE: 'bluebubbles', FOOTBRIDGE_BLUEBUBBLES_URL: 'http://127.0.0.1:1' }),
      { mode: 0o600 },
    );
    await writeFile(join(dir, 'bluebubbles-password'), 'password', { mode: 0o600 });
    const { code, out } = await command('doctor', '--data-dir', dir);
    expect(code).toBe(9);
    const { findings } = JSON.parse(out) as { findings: { check: string }[] };
    expect(findings.map(({ check }) => check)).toContain('BlueBubbles');
  });

  it('doctor reports problems with their next steps', async () => {
    const scripted = await service();
    const dir = await tempDir(cleanup);
    const args = ['doctor', '--url', scripted.url, '--location', 'L', '--data-dir', dir, '--simulate'];
    expect((await command(...args)).code).toBe(0);
    await command('activate', '--url', scripted.url, '--data-dir', dir, '--license', 'KEY-1');
    await chmod(join(dir, 'device-token.json'), 0o644);
    const readable = await command(...args);
    expect(readable.code).toBe(9);
    expect(JSON.parse(readable.out).findings).toContainEqual(
      expect.objectContaining({
        check: 'License',
        state: 'fail',
        next: expect.stringContaining('chmod 600'),
      }),
    );
    const unreachable = await command('doctor', '--url', 'http://127.0.0.1:1', '--data-dir', dir);
    expect(unreachable).toMatchObject({ code: 9, out: expect.stringContaining('cannot be reached') });
  });
});
