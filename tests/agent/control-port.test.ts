import { createCleanup } from '@footbridge/testkit/cleanup';
import { afterEach, describe, expect, it } from 'vitest';

import { ANNA, BERT, person, PNG, runAgent } from './running-agent.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

const file = { name: 'a.png', mime: 'image/png', base64: PNG.toString('base64') };

async function control(): Promise<{ url: string } & Awaited<ReturnType<typeof runAgent>>> {
  const running = await runAgent(cleanup);
  const url = /"controlUrl":"([^"]+)"/.exec(running.logs.join('\n'))?.[1] ?? '';
  return { ...running, url };
}

describe('the control port', () => {
  it('shows the simulation', async () => {
    const { world, play } = await control();
    expect(await world()).toEqual({
      macos: '26.1',
      permissions: { accessibility: true, automation: true },
      queue: 0,
      chats: [],
    });
    const { guid, chatId } = await play(person(ANNA, 'say'), {
      text: 'Hi',
      effect: 'slam',
      attachments: [file],
    });
    expect((await world()).chats).toEqual([
      {
        id: chatId,
        isGroup: false,
        recipients: [ANNA],
        service: 'iMessage',
        messages: [
          {
            guid,
            from: ANNA,
            text: 'Hi',
            service: 'iMessage',
            effect: 'slam',
            attachments: [
              {
                name: 'a.png',
                mime: 'image/png',
                size: PNG.byteLength,
                sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
              },
            ],
            reactions: [],
            sentAt: expect.any(Number),
            state: 'delivered',
          },
        ],
      },
    ]);
  });

  it('changes the simulation', async () => {
    const { world, play } = await control();
    await play('/world', { macos: '15.6', permissions: { accessibility: false }, delayMs: 1 });
    expect(await world()).toMatchObject({
      macos: '15.6',
      permissions: { accessibility: false, automation: true },
    });
  });

  it('makes people write, react, send stickers, create groups, edit, unsend and leave', async () => {
    const { world, play } = await control();
    const { chatId } = await play<{ chatId: number }>('/groups', { recipients: [ANNA, BERT] });
    const said = await play(person(ANNA, 'say'), { text: 'Hello', chatId });
    expect(said).toEqual({ guid: expect.any(String), chatId });
    await play(person(BERT, 'react'), { targetGuid: said.guid, kind: 'emoji', action: 'add', emoji: '🔥' });
    const sticker = await play(person(BERT, 'sticker'), { ...file, chatId });
    await play(person(ANNA, 'edit'), { guid: said.guid, text: 'Hello!' });
    await play(person(BERT, 'unsend'), { guid: sticker.guid });
    await play(person(BERT, 'leave'), { chatId });
    expect((await world()).chats).toMatchObject([
      {
        recipients: [ANNA],
        messages: [{ text: 'Hello!', reactions: [{ from: BERT, kind: 'emoji', emoji: '🔥' }] }],
      },
    ]);
  });

  it.each([
    ['POST', '/people/%2B1/say', { text: 5 }, 400, 'text must be a string'],
    ['POST', '/people/%2B1/say', {}, 409, 'nothing to say'],
    ['POST', '/people/%2B1/say', { attachments: [{ name: 'x' }] }, 400, 'attachments[0].base64'],
    [
      'POST',
      '/people/%2B1/react',
      { targetGuid: 'X', kind: 'classic', action: 'add', type: 'hug' },
      400,
      'type must be',
    ],
    [
      'POST',
      '/people/%2B1/react',
      { targetGuid: 'X', kind: 'classic', action: 'add', type: 'love' },
      409,
      'no message',
    ],
    ['POST', '/people/%2B1/dance', {}, 404, 'there is no'],
    ['POST', '/world', { faults: [{ job: 'text', code: 'NO_SUCH_CODE' }] }, 400, 'code'],
    ['POST', '/world', { macos: '3' }, 400, 'macos'],
    ['POST', '/groups', { recipients: [ANNA] }, 409, 'at least two'],
    ['POST', '/people/%zz/say', { text: 'x' }, 400, 'path'],
    ['GET', '/nothing', undefined, 404, 'there is no'],
  ])('responds to %s %s %j with %i', async (method, path, body, status, error) => {
    const { url } = await control();
    const response = await fetch(url + path, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ error: expect.stringContaining(error) });
  });

  it('rejects requests of web pages: another Host, or a body that is not JSON', async () => {
    const { url } = await control();
    const plain = await fetch(`${url}/groups`, { method: 'POST', body: '{"recipients":[]}' });
    expect(plain.status).toBe(415);
    const broken = await fetch(`${url}/groups`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{',
    });
    expect(broken.status).toBe(400);
    const { request } = await import('undici');
    const rebound = await request(`${url}/world`, { headers: { host: 'evil.example.com' } });
    expect(rebound.statusCode).toBe(403);
  });
});
