import { createCleanup } from '@footbridge/testkit/cleanup';
import { seeded } from '@footbridge/testkit/seeded';
import { afterEach, describe, expect, it } from 'vitest';

import { useCrashes } from './crashing-agent.ts';
import { SENDING_ENGINES } from './engine-agent.ts';
import { useEngine } from './engine.fixture.ts';
import { always, serveFiles } from '@footbridge/testkit/file-server';
import { ANNA, BERT, PNG, person, runAgent } from './running-agent.ts';
import { ScriptedService } from './scripted-service.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

const MIRROR = { FOOTBRIDGE_MIRROR: 'true' };

/** Returns the texts of the messages that were reported as typed by the owner. */
const mirrored = ({ received }: ScriptedService) =>
  received.filter(({ fromMe }) => fromMe === true).map(({ text }) => text);

describe.each(SENDING_ENGINES)('the mirror on %s Messages', (engine) => {
  const { run } = useEngine(engine, cleanup);
  const crashingAgent = useCrashes(engine, cleanup, MIRROR);

  it('reports texts that the owner types, and no send of the agent', async () => {
    const files = await serveFiles(cleanup, always(PNG, 'image/png'));
    const { service, play } = await run({ env: MIRROR });
    const sends = [
      service.send({ message: 'By the CRM – with “quotes”' }),
      service.send({ message: 'With a file', attachments: [`${files.url}/a.png`] }),
    ];
    for (const { requestId } of sends) await service.statusOf(requestId);
    const { guid, chatId } = await play(person(ANNA, 'hear'), { text: 'By the owner' });
    const { seq: _, sentAt, ...frame } = await service.messageOf(guid);
    expect(frame).toEqual({
      type: 'message_received',
      guid,
      fromMe: true,
      sender: ANNA,
      service: 'iMessage',
      text: 'By the owner',
      chat: { id: chatId, isGroup: false, recipients: [ANNA] },
      attachments: [],
    });
    expect(Date.parse(sentAt)).not.toBeNaN();
    expect(mirrored(service)).toEqual(['By the owner']);
  });

  it('does not report a send whose outcome is unknown', async () => {
    const { service, play, fail, heal, statusOfLost } = await run({ env: MIRROR });
    await fail('send_lost');
    await statusOfLost(service.send({ message: 'Lost' }).requestId);
    await heal();
    const { guid } = await play(person(ANNA, 'hear'), { text: 'By the owner' });
    await service.messageOf(guid);
    expect(mirrored(service)).toEqual(['By the owner']);
  });

  it('is off by default', async () => {
    const { service, play } = await run();
    await play(person(ANNA, 'hear'), { text: 'By the owner' });
    const { guid } = await play(person(ANNA, 'say'), { text: 'Marker' });
    await service.messageOf(guid);
    expect(service.received.map(({ text }) => text)).toEqual(['Marker']);
  });

  it.each(['step.begun', 'step.sent'])(
    'does not report a send that was interrupted by kill -9 at %s',
    async (failpoint) => {
      const { service, died, again } = await crashingAgent(`${failpoint}:kill`);
      const { requestId } = service.send({ message: 'Precious' });
      await died();
      const agent = await again();
      await service.statusOf(requestId);
      // It is in the same chat, so that it is reported after the row of the send.
      const { guid } = await agent.say(ANNA, { text: 'Marker' });
      await service.messageOf(guid);
      expect(service.received.map(({ text }) => text)).toEqual(['Marker']);
    },
  );
});

describe('the mirror', () => {
  it('is off when the service does not accept it', async () => {
    const service = await new ScriptedService().start();
    cleanup.add(() => service.stop());
    service.mirror = false;
    const { play } = await runAgent(cleanup, { env: MIRROR, service });
    await play(person(ANNA, 'hear'), { text: 'By the owner' });
    const { guid } = await play(person(ANNA, 'say'), { text: 'Marker' });
    await service.messageOf(guid);
    expect(mirrored(service)).toEqual([]);
  });

  it('reports every text of the owner once and no send, in a random order of both with lost sends', async () => {
    const { service, play } = await runAgent(cleanup, { env: MIRROR });
    const random = seeded(24);
    const typed: string[] = [];
    const sent: string[] = [];
    for (let index = 0; index < 120; index += 1) {
      const handle = random() < 0.5 ? ANNA : BERT;
      if (random() < 0.1)
        await play('/world', { faults: [{ job: 'text', code: 'OUTCOME_UNKNOWN', times: 1 }] });
      if (random() < 0.6) {
        sent.push(service.send({ phone: handle, message: `sent ${index}` }).requestId);
      } else {
        typed.push(`typed ${index}`);
        await play(person(handle, 'hear'), { text: `typed ${index}` });
      }
    }
    for (const requestId of sent) await service.statusOf(requestId);
    for (const handle of [ANNA, BERT]) {
      const { guid } = await play(person(handle, 'say'), { text: 'Marker' });
      await service.messageOf(guid);
    }
    expect(mirrored(service).toSorted()).toEqual(typed.toSorted());
  });
});
