import { statSync } from 'node:fs';

import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { afterEach, describe, expect, it } from 'vitest';

import { callAgent } from '@footbridge/agent/edges/local-socket/local-client';
import { localSocketPath } from '@footbridge/agent/edges/local-socket/local-calls';
import { ANNA, runAgent } from './running-agent.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

describe('the local socket', () => {
  it('reports the state of the running agent, to its owner only', async () => {
    const { config } = await runAgent(cleanup);
    expect(await callAgent(config.dataDir, { call: 'report' })).toMatchObject({
      version: '0.1.0',
      location: 'location1',
      link: { state: 'registered' },
      store: 'readable',
      newestMessageAgeSec: null,
      engine: 'macos',
      uiAutomation: true,
      state: { permissions: { fullDisk: 'granted', automation: 'granted' }, queue: { pending: 0 } },
    });
    expect(statSync(localSocketPath(config.dataDir)).mode & 0o777).toBe(0o600);
  });

  it('reports the permissions and sends a text between two jobs', async () => {
    const { config, play, messages } = await runAgent(cleanup);
    const ask = () => callAgent(config.dataDir, { call: 'requestPermission', permission: 'accessibility' });
    expect(await ask()).toBe('granted');
    await play('/world', { permissions: { accessibility: false } });
    expect(await ask()).toBe('denied');
    const sent = await callAgent(config.dataDir, { call: 'sendText', to: ANNA, text: 'Hello' });
    expect(sent).toMatchObject({ state: 'delivered' });
    expect(await messages()).toMatchObject([{ from: 'me', text: 'Hello' }]);
  });

  it('stops the agent, and rejects a call when no agent runs', async () => {
    const { config, agent } = await runAgent(cleanup);
    await callAgent(config.dataDir, { call: 'stop' });
    expect(await agent.ended).toEqual({ state: 'stopped' });
    await agent.stop();
    const call = (dir: string) => callAgent(dir, { call: 'report' });
    await expect(call(config.dataDir)).rejects.toThrow('The agent is not running');
    await expect(call(await tempDir(cleanup))).rejects.toThrow('The agent is not running');
  });

  it('rejects a call that it does not know', async () => {
    const { config } = await runAgent(cleanup);
    const unknown = { call: 'requestPermission', permission: 'camera' } as never;
    await expect(callAgent(config.dataDir, unknown)).rejects.toThrow('does not know this call');
  });
});

describe('the selftest', () => {
  it('tries each capability and records no text, number or id', async () => {
    const { config, messages } = await runAgent(cleanup);
    const steps: string[] = [];
    const record = await callAgent(
      config.dataDir,
      { call: 'selftest', options: { to: ANNA, group: [ANNA, '+15550100002'] } },
      { onStep: (step) => steps.push(step.name) },
    );
    const withVerdict = (verdict: string) =>
      record.steps.filter((step) => step.verdict === verdict).map(({ name }) => name);
    expect(withVerdict('verified')).toEqual(
      [
        'message store',
        'message bodies',
        'automation',
        'accessibility',
        'text',
        'groups',
        'attachments',
      ].concat(['voice', 'replies', 'animations', 'reactions', 'emoji-reactions']),
    );
    expect(withVerdict('skipped')).toEqual([
      'attribution',
      'live chats',
      'windows',
      'file folders',
      'locked screen',
    ]);
    expect(withVerdict('failed')).toEqual([]);
    expect(steps).toEqual(record.steps.map(({ name }) => name));
    expect(record).toMatchObject({ format: 1, onMac: false, macos: { version: '26.1' } });
    expect(Object.keys(record.times ?? {})).toEqual(['rowMs', 'sentMs', 'deliveredMs']);
    const sent = await messages();
    expect(sent.length).toBeGreaterThan(4);
    const written = JSON.stringify(record);
    for (const { guid, text } of sent)
      for (const secret of [guid, text, ANNA].filter(Boolean)) expect(written).not.toContain(secret);
  });

  it('skips checks that need a recipient, and has the code of a failed check', async () => {
    const { config, play } = await runAgent(cleanup);
    const test = async (options: { to?: string }) => {
      const { steps } = await callAgent(config.dataDir, { call: 'selftest', options });
      return new Map(steps.map(({ name, verdict, code }) => [name, code ?? verdict]));
    };
    const alone = await test({});
    expect([alone.get('message store'), alone.get('text'), alone.get('reactions')]).toEqual([
      'verified',
      'skipped',
      'skipped',
    ]);
    await play('/world', { faults: [{ job: 'reaction', code: 'PICKER_FAILED', times: 1 }] });
    const broken = await test({ to: ANNA });
    expect([broken.get('text'), broken.get('reactions')]).toEqual(['verified', 'PICKER_FAILED']);
  });
});
