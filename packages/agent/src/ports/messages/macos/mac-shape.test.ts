import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { CONTACT_NAME } from '@footbridge/testkit/macos/accessibility/window-tree';
import { MACOS_VERSIONS } from '@footbridge/simulator/chat-db';
import type { MacosVersion } from '@footbridge/simulator/chat-db';
import { startSimulatedMacos } from '@footbridge/testkit/macos';
import { systemClock } from '@footbridge/runtime/clock';
import { afterEach, describe, expect, it } from 'vitest';

import { ScreenInProcess } from './accessibility/screen-in-process.fixture.ts';
import { MacMessages } from './mac-messages.ts';

const ANNA = '+15550100001';
const BERT = '+15557654321';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

/** A screen with two messages of a person, and the guid of the second one. */
async function showing(version: MacosVersion) {
  const mac = new ScreenInProcess(await tempDir(cleanup), version);
  cleanup.add(() => mac.close());
  mac.app.write({ from: ANNA, text: 'canary-before' });
  const { guid } = mac.app.write({ from: ANNA, text: 'canary-target' });
  await mac.app.settled();
  mac.store.refresh();
  return { mac, guid };
}

describe('the shape of the windows', () => {
  it.each(MACOS_VERSIONS)('has the labels and elements of macOS %i, without content', async (version) => {
    const { mac, guid } = await showing(version);
    const windows = await mac.shape().windows(guid);
    if ('state' in windows) throw new Error(windows.message);
    expect(windows.language).toBe('en');
    expect(windows.labels).toMatchObject({
      'Accessibility acknowledgment.type.heart': 'Heart',
      'ChatKit ACCESSIBILITY_ADD_EMOJI_TAPBACK': 'Add Emoji as Tapback',
    });
    const identifiers = windows.elements.map(({ identifier }) => identifier);
    for (const known of ['TranscriptCollectionView', 'messageBodyField', 'CKBalloonTextView'])
      expect(identifiers).toContain(known);
    expect(identifiers.filter((identifier) => identifier === 'CKBalloonTextView')).toHaveLength(1);
    expect(windows.elements.filter(({ isSelected }) => isSelected)).toHaveLength(1);
    expect(windows.elements.flatMap(({ actions }) => actions)).toContain(
      'Name:Accessibility balloon.message.reply',
    );
    expect(JSON.stringify(windows)).not.toMatch(/canary/);
    for (const secret of [ANNA, guid, CONTACT_NAME]) expect(JSON.stringify(windows)).not.toContain(secret);
    expect(mac.screen.actions().presses).toEqual([]);
  });

  it('has the labels in the language of the system, and null for a label that is missing', async () => {
    const { mac, guid } = await showing(26);
    mac.screen.configure({ language: 'de', absentLabels: ['acknowledgment.type.heart'] });
    expect(await mac.shape().windows(guid)).toMatchObject({
      language: 'de',
      labels: {
        'Accessibility acknowledgment.type.heart': null,
        'Accessibility acknowledgment.type.thumbs.up': 'Daumen hoch',
      },
    });
  });

  it('says why they could not be read', async () => {
    const { mac, guid } = await showing(26);
    mac.screen.configure({ isTrusted: false });
    expect(await mac.shape().windows(guid)).toMatchObject({ state: 'failed', code: 'AX_DENIED' });
    expect(await mac.shape().windows('unknown')).toMatchObject({ code: 'TARGET_NOT_FOUND' });
  });
});

async function openMacos() {
  const macos = await startSimulatedMacos();
  cleanup.add(() => macos.stop());
  const memory = { load: () => undefined, save: () => undefined };
  const options = { home: macos.home, programs: macos.commands, memory, clock: systemClock };
  const messages = await MacMessages.open({ ...options, uiAutomation: true });
  cleanup.add(() => messages.close());
  return { macos, messages };
}

it('names the program whose permissions macOS checks for its Apple events, if the log can be read', async () => {
  const { macos, messages } = await openMacos();
  expect(await messages.shape.attribution()).toEqual({ program: 'com.apple.Terminal', isApp: false });
  const denied = { program: 'log', exitCode: 1, stderr: 'log: Operation not permitted' } as const;
  await macos.messages.breakCommands({ faults: [denied] });
  expect(await messages.shape.attribution()).toBeUndefined();
});

it('compares the chats of the store with the live ones by the form of their ids', async () => {
  const { macos, messages } = await openMacos();
  await macos.messages.write({ from: ANNA, text: 'Hi' });
  await macos.messages.group({ members: [ANNA, BERT], service: 'iMessage' });
  await macos.messages.settled();
  const live = await messages.shape.liveChats();
  expect(live).toEqual({ sameId: 100, forms: { 'any;-;': 50, 'any;+;': 50 } });
  await macos.messages.configure({ faults: [{ event: 'chats', error: -1743 }] });
  expect(await messages.shape.liveChats()).toMatchObject({ state: 'failed', code: 'AX_DENIED' });
});
