import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { systemClock } from '@footbridge/runtime/clock';
import type { Clock } from '@footbridge/runtime/clock';
import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { startSimulatedMacos } from '@footbridge/testkit/macos';
import type { SimulatedMacos } from '@footbridge/testkit/macos';
import { FINDER_PID } from '@footbridge/testkit/macos/accessibility/screen';
import { CONTACT_NAME } from '@footbridge/testkit/macos/accessibility/window-tree';
import { MACOS_VERSIONS } from '@footbridge/simulator/chat-db';
import type { MacosVersion } from '@footbridge/simulator/chat-db';
import { SkippingClock } from '@footbridge/testkit/skipping-clock';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it, vi } from 'vitest';

import type { OutgoingMessage, PressResult } from '../../messages.ts';
import { reactionContract } from '../../messages.contract.ts';
import { MacMessages } from '../mac-messages.ts';

const ANNA = '+15550100001';
const BERT = '+15557654321';
const LOVE = { kind: 'classic', type: 'love' } as const;

const cleanup = createCleanup();
afterEach(() => cleanup.run());

interface Opened {
  readonly macos: SimulatedMacos;
  readonly messages: MacMessages;
}

interface Scenario extends Opened {
  readonly guid: string;
  readonly react: () => Promise<PressResult>;
}

async function open(version: MacosVersion, uiAutomation = true, clock: Clock = systemClock): Promise<Opened> {
  const macos = await startSimulatedMacos({ macos: version });
  cleanup.add(() => macos.stop());
  let saved: string | undefined;
  const memory = {
    load: () => saved,
    save: (value: string) => {
      saved = value;
    },
  };
  const options = { home: macos.home, programs: macos.commands, memory, clock, uiAutomation };
  const messages = await MacMessages.open(options);
  cleanup.add(() => messages.close());
  return { macos, messages };
}

async function start(
  version: MacosVersion = 26,
  uiAutomation = true,
  clock: Clock = systemClock,
): Promise<Scenario> {
  const { macos, messages } = await open(version, uiAutomation, clock);
  await macos.messages.write({ from: ANNA, text: 'canary-before' });
  const { guid } = await macos.messages.write({ from: ANNA, text: 'canary-target' });
  await macos.messages.settled();
  const chatId = messages.store.directChat(ANNA, 'iMessage')?.id ?? 0;
  return { macos, messages, guid, react: () => messages.react({ chatId, targetGuid: guid, tapback: LOVE }) };
}

const text = (more: object = {}): OutgoingMessage => ({ kind: 'text', text: 'canary-text', ...more });
const toAnna = { to: 'person', handle: ANNA, service: 'iMessage' } as const;

describe('with the program osascript', () => {
  it.each(MACOS_VERSIONS)('everything on the screen works on macOS %i', async (version) => {
    const { macos, messages, guid, react } = await start(version);
    expect(messages.capabilities()).toEqual(expect.arrayContaining(['replies', 'animations', 'reactions']));
    expect(await react()).toEqual({ state: 'pressed' });
    expect(messages.store.ownReaction(guid)).toEqual(LOVE);
    const effect = 'com.apple.messages.effect.CKConfettiEffect';
    expect(await messages.send(text({ effect }), toAnna)).toMatchObject({ state: 'delivered' });
    expect(await messages.send(text({ replyTo: guid }), toAnna)).toMatchObject({ state: 'delivered' });
    const group = { to: 'group', recipients: [ANNA, BERT], service: 'iMessage' } as const;
    expect(await messages.send(text(), group)).toMatchObject({ state: 'delivered' });
    expect(await macos.messages.screenActions()).toMatchObject({
      presses: [{ guid, code: 2000 }],
      sends: [
        { members: [ANNA], effect },
        { members: [ANNA], replyTo: guid },
        { members: [ANNA, BERT], text: 'canary-text' },
      ],
      frontApplication: FINDER_PID,
      draft: '',
    });
    expect(messages.environment().report?.permissions).toMatchObject({ accessibility: 'granted' });
    const calls = JSON.stringify(await macos.messages.calls());
    for (const secret of ['canary', '0100001', '7654321', guid, CONTACT_NAME])
      expect(calls).not.toContain(secret);
  });

  it('M3 reports the Accessibility permission that an action did not have', async () => {
    const { macos, messages, react } = await start();
    await macos.messages.configureScreen({ isTrusted: false });
    expect(await react()).toMatchObject({
      code: 'AX_DENIED',
      message: expect.stringContaining('Accessibility'),
    });
    expect(messages.environment().report?.permissions).toMatchObject({ accessibility: 'denied' });
  });

  it('starts Messages in the background when it is not running', async () => {
    const { macos, react } = await start();
    await macos.messages.configureScreen({ isRunning: false });
    expect(await react()).toEqual({ state: 'pressed' });
    expect((await macos.messages.calls()).filter(({ program }) => program === 'open')).toEqual([
      { program: 'open', arguments: ['-gj', '-a', 'Messages'] },
    ]);
  });

  it.each(['killed_after', 'silent_after', 'garbage_after'] as const)(
    'takes the outcome from the row when osascript breaks after the press (%s)',
    async (fault) => {
      const { macos, messages, guid, react } = await start();
      await macos.messages.breakOsascript({ faults: [fault] });
      expect(await react()).toEqual({ state: 'pressed' });
      expect(messages.store.ownReaction(guid)).toEqual(LOVE);
      expect((await macos.messages.screenActions()).presses).toHaveLength(1);
    },
  );

  it('takes the outcome from the row when the output of osascript was removed', async () => {
    const clock = new SkippingClock();
    const { macos, messages, guid, react } = await start(26, true, clock);
    const folder = await tempDir(cleanup);
    vi.stubEnv('TMPDIR', folder);
    cleanup.add(() => void vi.unstubAllEnvs());
    await macos.messages.breakOsascript({ faults: ['hang_after'] });
    const reacting = react();
    await until(async () => (await macos.messages.screenActions()).presses.length === 1);
    const outputs = readdirSync(folder).filter((name) => name.startsWith('footbridge-'));
    expect(outputs).toHaveLength(1);
    for (const name of outputs) rmSync(join(folder, name));
    await clock.skip(90_000);
    expect(await reacting).toEqual({ state: 'pressed' });
    expect(messages.store.ownReaction(guid)).toEqual(LOVE);
  });

  it.each(['killed_before', 'garbage', 'half_json', 'silent'] as const)(
    'M3 nothing is pressed when osascript is broken (%s)',
    async (fault) => {
      const { macos, react } = await start();
      await macos.messages.breakOsascript({ faults: [fault] });
      expect(await react()).toMatchObject({ state: 'failed', code: 'PICKER_FAILED' });
      expect((await macos.messages.screenActions()).presses).toEqual([]);
    },
  );
});

describe('M3 osascript that', () => {
  const PROGRAM_TIMEOUT_MS = 90_000;

  it('M3 is missing fails, and nothing is pressed', async () => {
    const { macos, react } = await start();
    rmSync(macos.commands.osascript);
    expect(await react()).toMatchObject({
      code: 'PICKER_FAILED',
      message: expect.stringContaining('cannot be started'),
    });
    expect((await macos.messages.screenActions()).presses).toEqual([]);
  });

  it('M3 prints without end may have pressed: the row decides', async () => {
    const { macos, messages, guid, react } = await start();
    await macos.messages.breakOsascript({ faults: ['flood'] });
    expect(await react()).toEqual({ state: 'pressed' });
    expect(messages.store.ownReaction(guid)).toBeUndefined();
    expect(await react()).toMatchObject({ state: 'failed', code: 'TIMEOUT' });
    expect((await macos.messages.screenActions()).presses).toEqual([]);
  });

  it.each([
    ['before', { state: 'failed', code: 'PICKER_FAILED' }, 0],
    ['after', { state: 'pressed' }, 1],
  ] as const)('M3 hangs %s the press is stopped at its deadline', async (when, result, presses) => {
    const clock = new SkippingClock();
    const { macos, react } = await start(26, true, clock);
    await macos.messages.breakOsascript({ faults: [`hang_${when}`] });
    const reacting = react();
    const made = async (): Promise<number> => (await macos.messages.screenActions()).presses.length;
    await until(async () => (await macos.messages.calls()).length > 0 && (await made()) === presses);
    await clock.skip(PROGRAM_TIMEOUT_MS);
    expect(await reacting).toMatchObject(result);
    expect(await made()).toBe(presses);
  });
});

describe('on a version of macOS that the agent does not know', () => {
  it.each([
    ['27.0', true],
    ['27', true],
    ['unknown', false],
  ])(
    'sw_vers says %j: what is offered follows from the number, and a Tapback is pressed',
    async (version, hasEmoji) => {
      const { macos, guid } = await start();
      const swVers = join(await tempDir(cleanup), 'sw_vers');
      writeFileSync(swVers, `#!/bin/sh\necho ${version}\n`, { mode: 0o755 });
      const messages = await MacMessages.open({
        home: macos.home,
        programs: { ...macos.commands, swVers },
        memory: { load: () => undefined, save: () => undefined },
        clock: systemClock,
        uiAutomation: true,
      });
      cleanup.add(() => messages.close());
      expect(messages.environment().macos).toBe(version);
      expect(messages.capabilities().includes('emoji-reactions')).toBe(hasEmoji);
      const chatId = messages.store.directChat(ANNA, 'iMessage')?.id ?? 0;
      expect(await messages.react({ chatId, targetGuid: guid, tapback: LOVE })).toEqual({
        state: 'pressed',
      });
    },
  );
});

describe('while the owner does not allow UI automation', () => {
  it('M3 no program runs, and no such capability is offered', async () => {
    const { macos, messages, guid, react } = await start(26, false);
    const disabled = { state: 'failed', code: 'UI_AUTOMATION_DISABLED' };
    expect(await react()).toMatchObject(disabled);
    expect(await messages.send(text({ replyTo: guid }), toAnna)).toMatchObject(disabled);
    const group = { to: 'group', recipients: [ANNA, BERT], service: 'iMessage' } as const;
    expect(await messages.send(text(), group)).toMatchObject(disabled);
    expect(messages.capabilities()).toEqual(['text', 'groups', 'attachments']);
    expect(await macos.messages.calls()).toEqual([]);
  });
});

describe.each(MACOS_VERSIONS)('reactions on the screen of macOS %i, as on every engine', (version) => {
  reactionContract(async () => (await open(version)).messages);
});
