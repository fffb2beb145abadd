import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { DEFAULT_SETTINGS, startBlueBubbles } from '@footbridge/testkit/bluebubbles';
import type { BlueBubblesFault, SimulatedBlueBubbles } from '@footbridge/testkit/bluebubbles';
import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { startCrm } from '@footbridge/testkit/crm';
import { crmEnv } from '@footbridge/testkit/crm-env';
import { startSimulatedMacos } from '@footbridge/testkit/macos';
import type { SimulatedMacos } from '@footbridge/testkit/macos';
import { Program } from '@footbridge/testkit/program';
import { startService } from '@footbridge/testkit/service';
import { until } from '@footbridge/testkit/until';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { examineBlueBubblesOf } from '@footbridge/agent/open/bluebubbles';
import { chatIdOf } from '@footbridge/agent/ports/messages/chat-ids';
import { always, serveFiles } from '@footbridge/testkit/file-server';
import { ANNA, PNG, runAgent, withFooter } from './running-agent.ts';
import type { RunningAgent } from './running-agent.ts';

const afterwards = createCleanup();
const cleanup = createCleanup();
let macos: SimulatedMacos;
let server: SimulatedBlueBubbles;

beforeAll(async () => {
  macos = await startSimulatedMacos();
  afterwards.add(() => macos.stop());
  server = await startBlueBubbles(macos);
  afterwards.add(() => server.stop());
});
afterAll(() => afterwards.run());
beforeEach(async () => {
  await server.control.reset();
  await macos.messages.rebuild();
});
afterEach(() => cleanup.run());

const environment = (): Record<string, string> => ({
  FOOTBRIDGE_ENGINE: 'bluebubbles',
  FOOTBRIDGE_BLUEBUBBLES_URL: server.url,
});

async function dataDirWith(password: string, mode = 0o600): Promise<string> {
  const dataDir = await tempDir(cleanup);
  writeFileSync(join(dataDir, 'bluebubbles-password'), password, { mode });
  return dataDir;
}

async function start(env: Record<string, string> = {}): Promise<RunningAgent> {
  return runAgent(cleanup, {
    mac: { home: macos.home, programs: macos.commands },
    dataDir: await dataDirWith(DEFAULT_SETTINGS.password),
    env: { ...environment(), FOOTBRIDGE_CONFIRM_SEC: '60', ...env },
  });
}

/** Anna writes first. */
async function fromAnna(text: string): Promise<{ guid: string; chatId: number }> {
  const { guid, chatRowid } = await macos.messages.write({ from: ANNA, text });
  await macos.messages.settled();
  return { guid, chatId: chatIdOf(1, chatRowid) };
}

describe('the agent with BlueBubbles', () => {
  it('registers with the capabilities of the engine, and labels untested ones', async () => {
    const { service } = await start();
    expect(service.registrations[0]).toMatchObject({
      os: { name: 'macOS', version: '26.1' },
      capabilities: expect.arrayContaining(['text', 'voice', 'animations', 'replies', 'untested:replies']),
    });
    expect(service.registrations[0]?.capabilities).not.toContain('emoji-reactions');
  });

  it('sends texts, replies, effects, reactions, files and voice messages without UI automation', async () => {
    const { service } = await start({ FOOTBRIDGE_UI_AUTOMATION: 'false' });
    const { guid, chatId } = await fromAnna('Hi');
    const files = await serveFiles(cleanup, always(PNG, 'image/png'));
    const sounds = await serveFiles(cleanup, always(Buffer.from('sound'), 'audio/mp4'));
    const reaction = { target_message_guid: guid, kind: 'classic', action: 'add', type: 'love' };
    const frames = [
      { message: 'Hello' },
      { message: withFooter('Yes', { reply_to: { message_guid: guid } }) },
      { message: withFooter('Wow', { animation: { effect: 'slam', kind: 'bubble' } }) },
      { message: withFooter('', { chat_id: chatId, reaction }) },
      { message: withFooter('', { chat_id: chatId, reaction: { ...reaction, action: 'remove' } }) },
      { message: '', attachments: [`${files.url}/photo.png`] },
      { message: withFooter('', { voice: { duration_ms: 900 } }), attachments: [`${sounds.url}/v.m4a`] },
    ];
    for (const frame of frames)
      expect(await service.statusOf(service.send(frame).requestId)).toMatchObject({ status: 'delivered' });
    const commands = (await server.control.performed()).map(({ command }) => command);
    expect(commands).toMatchObject([
      { text: 'Hello' },
      { text: 'Yes', replyTo: guid },
      { text: 'Wow', effectId: 'com.apple.MobileSMS.expressivesend.impact' },
      { tapback: { code: 2000, target: guid } },
      { tapback: { code: 3000, target: guid } },
      { file: { name: 'photo.png' }, isVoice: false },
      { file: { name: 'Audio Message.caf' }, isVoice: true },
    ]);
  });

  it('M5 fails with the code of the contract where BlueBubbles has no way', async () => {
    const { service } = await start();
    const { guid, chatId } = await fromAnna('Hi');
    const target = { target_message_guid: guid, action: 'add' };
    const sticker = { bytes: PNG.toString('base64'), name: 'dot' };
    const codeOf = async (footer: object): Promise<string | undefined> => {
      const { requestId } = service.send({ message: withFooter('', { chat_id: chatId, ...footer }) });
      return (await service.statusOf(requestId)).error?.code;
    };
    expect(await codeOf({ reaction: { ...target, kind: 'emoji', emoji: '🎉' } })).toBe(
      'EMOJI_NOT_IN_RECENTS',
    );
    expect(await codeOf({ reaction: { ...target, kind: 'sticker', sticker } })).toBe('STICKER_NOT_FEASIBLE');
    expect(await codeOf({ sticker })).toBe('COMPOSE_FAILED');
    expect(await server.control.performed()).toEqual([]);
  });

  it('W1 sends an SMS after the row said that the number is not on iMessage', async () => {
    await server.control.configure({ notOnIMessage: [ANNA] });
    const { service } = await start();
    const { requestId } = service.send({ message: 'Hello' });
    expect(await service.statusOf(requestId)).toMatchObject({ status: 'delivered' });
    const services = (await server.control.performed()).map(({ command }) => command.to.service);
    expect(services).toEqual(['iMessage', 'SMS']);
  });

  it('reports what people write', async () => {
    const { service } = await start();
    const { guid } = await fromAnna('Hi');
    expect(await service.messageOf(guid)).toMatchObject({ text: 'Hi', sender: ANNA });
  });

  it('does not start without the Private API or with a password file that others can read', async () => {
    await server.control.configure({ privateApi: false });
    await expect(start()).rejects.toThrow('two or three times');
    await server.control.reset();
    const dataDir = await dataDirWith(DEFAULT_SETTINGS.password, 0o644);
    const mac = { home: macos.home, programs: macos.commands };
    await expect(runAgent(cleanup, { mac, dataDir, env: environment() })).rejects.toThrow('chmod 600');
  });

  it('keeps the password out of its log and its journal', async () => {
    const { service, logs, config } = await start();
    await service.statusOf(service.send({ message: 'Hello' }).requestId);
    const traces = [logs.join('\n'), readFileSync(join(config.dataDir, 'journal.db'), 'latin1')];
    for (const trace of traces) {
      expect(trace).not.toContain(DEFAULT_SETTINGS.password);
      expect(trace).not.toContain(encodeURIComponent(DEFAULT_SETTINGS.password));
    }
  });

  it('has findings for doctor: the server, the features of this Mac and recent messages', async () => {
    const { service, config, agent } = await start();
    await service.statusOf(service.send({ message: 'Hello' }).requestId);
    await agent.stop();
    const examine = async () => {
      const findings = await examineBlueBubblesOf(config, macos.home);
      return findings.map(({ check, state }) => `${check} ${state}`);
    };
    const features = ['Replies pass', 'Reactions pass', 'Activity pass'];
    const basics = ['BlueBubbles pass', 'Version pass', 'Private API pass', 'Helper pass', 'Account pass'];
    expect(await examine()).toEqual([...basics, ...features]);
    await server.control.configure({ helpers: 0 });
    expect(await examine()).toContain('Helper fail');
    writeFileSync(join(config.dataDir, 'bluebubbles-password'), '');
    expect(await examine()).toEqual(['Password fail']);
  });
});

/** `footbridge-agent run` on the simulated Mac. */
class AgentProgram extends Program {
  constructor() {
    super('agent/src/main.ts', undefined);
    writeFileSync(join(this.dataDir, 'bluebubbles-password'), DEFAULT_SETTINGS.password, { mode: 0o600 });
  }

  async start(env: Record<string, string>): Promise<void> {
    this.launch(['run'], {
      HOME: macos.home,
      FOOTBRIDGE_PROGRAMS: dirname(macos.commands.swVers),
      FOOTBRIDGE_AGENT_DIR: this.dataDir,
      FOOTBRIDGE_SEND_GAP_MS: '0',
      ...environment(),
      ...env,
    });
    await this.logged('registered');
  }
}

describe('from a signed webhook through BlueBubbles', () => {
  it('texts are delivered once, whatever the server responds, and a reply reaches the CRM', async () => {
    const crm = await startCrm();
    cleanup.add(() => crm.stop());
    const service = await startService({ env: { ...crmEnv(crm), CRM_OAUTH_REFRESH_THRESHOLD_SEC: '60' } });
    cleanup.add(() => service.stop());
    crm.bridgeUrl = service.url;
    const locationId = 'bluebubbles';
    await fetch(`${service.url}/oauth/callback/crm?code=${crm.install({ locationId })}`);
    const agent = new AgentProgram();
    cleanup.add(() => agent.stop());
    const { key } = await service.license();
    await agent.start({
      FOOTBRIDGE_URL: service.url,
      FOOTBRIDGE_LICENSE: key,
      FOOTBRIDGE_LOCATION: locationId,
    });
    await server.control.configure({ timeScale: 0.002 });

    /** Sends a webhook, and returns the terminal status and its code. */
    const outcome = async (message: string, fault: BlueBubblesFault): Promise<string[]> => {
      await server.control.fail({ faults: [fault] });
      const { status, messageId = '' } = await crm.sendWebhook({ locationId, phone: ANNA, message });
      expect(status).toBe(200);
      await until(() => crm.accepted(messageId).length === 2, { what: 'the terminal status' });
      const error: unknown = crm.statusesOf(messageId).at(-1)?.error;
      const code = typeof error === 'object' && error !== null && 'code' in error ? [String(error.code)] : [];
      return [...crm.accepted(messageId), ...code];
    };
    const faults: BlueBubblesFault[] = [
      {},
      { silent: true },
      { early: true, rowMs: 100_000 },
      { textForm: 'decomposed' },
      { guid: 'stale' },
      { reply: { send: 'endless' } },
      { reply: { send: 'reset' } },
      { reply: { send: 'rate_limited' } },
    ];
    const texts = faults.map((_, index) => `Grüße ${index} `);
    for (const [index, fault] of faults.entries())
      expect(await outcome(texts[index] ?? '', fault), JSON.stringify(fault)).toEqual([
        'pending',
        'delivered',
      ]);
    const refusal = { reply: { refuse: 'iMessage Private API Helper is not connected!' } };
    expect(await outcome('Not sent', refusal)).toEqual(['pending', 'failed', 'IMESSAGE_ERROR']);
    expect((await server.control.performed()).map(({ command }) => command.text)).toEqual(texts);

    await macos.messages.write({ from: ANNA, text: 'Thanks' });
    await until(() => crm.messages.some(({ message }) => message?.startsWith('Thanks')), {
      what: 'the reply',
    });
  });
});
