import { rmSync } from 'node:fs';
import { join } from 'node:path';

import { writeFooter } from '@footbridge/protocol/footer';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { afterEach, describe, expect, it } from 'vitest';

import { ANNA, BERT, person, PNG, runAgent, withFooter } from './running-agent.ts';
import type { RunningAgent } from './running-agent.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

const CAROL = '+15550100003';
const EMAIL = 'bert@example.com';

/** Starts the agent again after its message store was deleted and Messages made a new one. */
async function withRebuiltStore({ agent, service, config }: RunningAgent): Promise<RunningAgent> {
  await agent.stop();
  for (const file of ['chat.db', 'chat.db-wal', 'chat.db-shm']) {
    rmSync(join(config.dataDir, 'simulated-messages', file), { force: true });
  }
  return await runAgent(cleanup, { service, dataDir: config.dataDir });
}

/** Returns the texts of every chat under the addresses of its members. */
async function textsByMembers({ world }: RunningAgent): Promise<Record<string, string[]>> {
  const entries = (await world()).chats.map(({ recipients, messages }): [string, string[]] => [
    recipients.join(' '),
    messages.map((message) => message.text),
  ]);
  return Object.fromEntries(entries.filter(([, texts]) => texts.length > 0));
}

describe('M11 after the message store was rebuilt', () => {
  it('M11 an old chat_id does not lead to the chat that now has its row id', async () => {
    const first = await runAgent(cleanup);
    const anna = await first.play(person(ANNA, 'say'), { text: 'I am Anna' });
    await first.service.messageOf(anna.guid);
    const second = await withRebuiltStore(first);
    const bert = await second.play(person(BERT, 'say'), { text: 'I am Bert' });
    expect(bert.chatId).not.toBe(anna.chatId);
    const message = writeFooter('For Anna', { chat_id: anna.chatId, recipients: [ANNA] });
    const status = await second.service.statusOf(second.service.send({ phone: ANNA, message }).requestId);
    expect(status.status).toBe('delivered');
    expect(await textsByMembers(second)).toEqual({ [BERT]: ['I am Bert'], [ANNA]: ['For Anna'] });
  });

  it('M11 the recipients of the footer decide where a group message goes', async () => {
    const first = await runAgent(cleanup);
    const old = await first.play('/groups', { recipients: [ANNA, BERT] });
    await first.service.messageOf((await first.play(person(ANNA, 'say'), { text: 'Hi', ...old })).guid);
    const second = await withRebuiltStore(first);
    await second.play('/groups', { recipients: [BERT, CAROL] });
    const footer = { chat_id: old.chatId, is_group: true, recipients: [ANNA, BERT] };
    const { requestId } = second.service.send({ message: writeFooter('All of you', footer) });
    expect((await second.service.statusOf(requestId)).status).toBe('delivered');
    expect(await textsByMembers(second)).toEqual({ [`${ANNA} ${BERT}`]: ['All of you'] });
  });

  it.each([
    ['reaction', { reaction: { kind: 'classic', action: 'add', type: 'love' } }],
    ['sticker', { sticker: { bytes: PNG.toString('base64') } }],
  ])('M11 a %s with an old chat_id is TARGET_NOT_FOUND', async (_, content) => {
    const first = await runAgent(cleanup);
    const old = await first.play(person(ANNA, 'say'), { text: 'Hello' });
    await first.service.messageOf(old.guid);
    const second = await withRebuiltStore(first);
    const { guid } = await second.play(person(ANNA, 'say'), { text: 'Hello' });
    const reaction = 'reaction' in content ? { ...content.reaction, target_message_guid: guid } : undefined;
    const message = withFooter('', { chat_id: old.chatId, ...content, ...(reaction && { reaction }) });
    const status = await second.service.statusOf(second.service.send({ message }).requestId);
    expect(status.error?.code).toBe('TARGET_NOT_FOUND');
    expect(await second.messages()).toMatchObject([{ text: 'Hello', reactions: [] }]);
  });
});

describe('M11 a chat whose members do not match the request', () => {
  it.each([
    ['the phone is another person', {}, [ANNA]],
    ['the recipients are another person', { recipients: [CAROL], sender: CAROL }, [ANNA]],
    ['the sender is another person', { sender: CAROL }, [ANNA]],
    ['the recipients are a group', { is_group: true, recipients: [ANNA, CAROL] }, [ANNA, CAROL]],
  ])('M11 is not written to when %s', async (_, footer, goesTo) => {
    const running = await runAgent(cleanup);
    const { chatId } = await running.play(person(BERT, 'say'), { text: 'Hello' });
    const message = writeFooter('Secret', { chat_id: chatId, ...footer });
    const status = await running.service.statusOf(running.service.send({ phone: ANNA, message }).requestId);
    expect(status.status).toBe('delivered');
    expect(await textsByMembers(running)).toEqual({ [BERT]: ['Hello'], [goesTo.join(' ')]: ['Secret'] });
  });

  it('M11 is not written to when a group got other members', async () => {
    const running = await runAgent(cleanup);
    const { chatId } = await running.play('/groups', { recipients: [ANNA, BERT, CAROL] });
    await running.play(person(CAROL, 'leave'), { chatId });
    const footer = { chat_id: chatId, is_group: true, recipients: [ANNA, BERT, CAROL] };
    await running.service.statusOf(running.service.send({ message: writeFooter('Hi', footer) }).requestId);
    expect(await textsByMembers(running)).toEqual({ [`${ANNA} ${BERT} ${CAROL}`]: ['Hi'] });
  });

  it.each([
    ['phone', 'reaction', {}],
    ['phone', 'sticker', {}],
    ['footer', 'reaction', { recipients: [ANNA] }],
    ['footer', 'sticker', { sender: ANNA }],
  ])('M11 by the %s gets no %s', async (_, kind, footer) => {
    const running = await runAgent(cleanup);
    const { chatId, guid } = await running.play(person(BERT, 'say'), { text: 'Hello' });
    const content =
      kind === 'sticker'
        ? { sticker: { bytes: PNG.toString('base64') } }
        : { reaction: { kind: 'classic', action: 'add', type: 'love', target_message_guid: guid } };
    const message = withFooter('', { chat_id: chatId, ...content, ...footer });
    const status = await running.service.statusOf(running.service.send({ phone: ANNA, message }).requestId);
    expect(status.error?.code).toBe('TARGET_NOT_FOUND');
    expect(await running.messages()).toMatchObject([{ text: 'Hello', reactions: [] }]);
  });
});

describe('M11 a chat whose members match the request', () => {
  it.each([
    ['the phone in another notation', '+1 (555) 010-0002', {}],
    ['the phone without its country code', '555 010 0002', {}],
    ['the recipients and the phone', BERT, { recipients: ['+1 555 010 0002', '+15550100000'] }],
  ])('M11 is written to: %s', async (_, phone, footer) => {
    const running = await runAgent(cleanup);
    const { chatId } = await running.play(person(BERT, 'say'), { text: 'Hello' });
    const message = writeFooter('Back', { chat_id: chatId, ...footer });
    await running.service.statusOf(running.service.send({ phone, message }).requestId);
    expect(await textsByMembers(running)).toEqual({ [BERT]: ['Hello', 'Back'] });
  });

  it.each([[{ sender: EMAIL }], [{ recipients: [EMAIL.toUpperCase()] }]])(
    'M11 is written to when it is an email address that the footer names: %j',
    async (footer) => {
      const running = await runAgent(cleanup);
      const { chatId } = await running.play(person(EMAIL, 'say'), { text: 'Hello' });
      const message = writeFooter('Back', { chat_id: chatId, ...footer });
      await running.service.statusOf(running.service.send({ phone: BERT, message }).requestId);
      expect(await textsByMembers(running)).toEqual({ [EMAIL]: ['Hello', 'Back'] });
    },
  );

  it.each([
    ['reaction', 'a chat with an email address', [EMAIL]],
    ['sticker', 'a chat with an email address', [EMAIL]],
    ['reaction', 'a group with one', [ANNA, EMAIL]],
    ['sticker', 'a group with one', [ANNA, EMAIL]],
  ])('M11 a %s goes to %s when its footer names no member', async (kind, _, recipients) => {
    const running = await runAgent(cleanup);
    const group = recipients.length > 1 ? await running.play('/groups', { recipients }) : {};
    const { chatId, guid } = await running.play(person(EMAIL, 'say'), { text: 'Hello', ...group });
    const content =
      kind === 'sticker'
        ? { sticker: { bytes: PNG.toString('base64') } }
        : { reaction: { kind: 'classic', action: 'add', type: 'love', target_message_guid: guid } };
    const message = withFooter('', { chat_id: chatId, ...content });
    const status = await running.service.statusOf(running.service.send({ phone: BERT, message }).requestId);
    expect(status).toMatchObject({ status: 'delivered' });
  });

  it('M11 is written to when it is a group with the sender of the footer', async () => {
    const running = await runAgent(cleanup);
    const { chatId } = await running.play('/groups', { recipients: [ANNA, BERT] });
    const message = writeFooter('Hi', { chat_id: chatId, is_group: true, sender: BERT });
    await running.service.statusOf(running.service.send({ phone: CAROL, message }).requestId);
    expect(await textsByMembers(running)).toEqual({ [`${ANNA} ${BERT}`]: ['Hi'] });
  });
});

it('M11 the phone decides when a footer has an unknown chat_id and nothing else', async () => {
  const running = await runAgent(cleanup);
  const message = writeFooter('Hi', { chat_id: 99 });
  await running.service.statusOf(running.service.send({ phone: BERT, message }).requestId);
  expect(await textsByMembers(running)).toEqual({ [BERT]: ['Hi'] });
});

it('M11 a group message with an unknown chat_id and no recipients is not sent', async () => {
  const running = await runAgent(cleanup);
  const message = writeFooter('Hi', { chat_id: 99, is_group: true });
  const status = await running.service.statusOf(running.service.send({ phone: BERT, message }).requestId);
  expect(status.error?.code).toBe('IMESSAGE_GROUP_INVALID_RECIPIENTS');
  expect(await running.messages()).toEqual([]);
});
