import { createCleanup } from '@footbridge/testkit/cleanup';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { NOT_SENT, textsOf, UNKNOWN, useCrashes } from './crashing-agent.ts';
import type { CrashingAgent } from './crashing-agent.ts';
import { SENDING_ENGINES } from './engine-agent.ts';
import { always, serveFiles } from '@footbridge/testkit/file-server';
import { ANNA, PNG, withFooter } from './running-agent.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

const STATUSES = { delivered: { status: 'delivered' }, unknown: UNKNOWN, 'not sent': NOT_SENT } as const;

/** Kills the agent at a failpoint of a text; `received` is how often the person got it after the restart. */
async function killAt(
  crashingAgent: (failpoints: string) => Promise<CrashingAgent>,
  failpoint: string,
  answer: 'nothing' | keyof typeof STATUSES,
  received: number,
): Promise<void> {
  const { service, died, again } = await crashingAgent(`${failpoint}:kill`);
  service.autoAck = false;
  const frame = service.send({ message: 'Precious' });
  await died();
  service.autoAck = true;
  const agent = await again();
  if (answer === 'nothing') {
    await until(() => agent.queued() === 0, { what: 'an empty queue' });
    await service.settled();
    expect(service.statuses).toEqual([]);
  } else {
    expect(await service.statusOf(frame.requestId)).toMatchObject(STATUSES[answer]);
  }
  expect(await textsOf(agent)).toEqual(Array.from({ length: received }, () => 'Precious'));

  const repeats = Array.from({ length: 5 }, () => service.send({ ...frame, requestId: crypto.randomUUID() }));
  for (const { requestId } of repeats) {
    const status = await service.statusOf(requestId);
    expect(status).toMatchObject(answer === 'unknown' ? UNKNOWN : { status: 'delivered' });
  }
  expect(await textsOf(agent)).toHaveLength(answer === 'unknown' ? 0 : 1);
}

describe.each(SENDING_ENGINES)('on %s Messages', (engine) => {
  const crashingAgent = useCrashes(engine, cleanup);
  // The program that sends outlives the agent on a Mac, and tells whether it began.
  const onMac = engine === 'macos';

  describe('M4 kill -9 during an outbound text', () => {
    it.each([
      ['step.begun', onMac ? 'not sent' : 'unknown', 0],
      ['step.sent', 'delivered', 1],
    ] as const)(
      'M4 at %s reports %s after the restart, and a repeat does not send it again',
      (failpoint, answer, received) => killAt(crashingAgent, failpoint, answer, received),
    );

    it.each(['step.sent'])(
      'M4 at %s reports an effect that was sent as delivered, although screen actions are off after the restart',
      async (failpoint) => {
        const { service, agent, died, again } = await crashingAgent(`${failpoint}:kill`);
        await agent.say(ANNA, { text: 'Hello' });
        const message = withFooter('Boom', { animation: { effect: 'slam' } });
        const { requestId } = service.send({ phone: ANNA, message });
        await died();
        const revived = await again({ FOOTBRIDGE_UI_AUTOMATION: 'false' });
        expect(await service.statusOf(requestId)).toMatchObject({ status: 'delivered' });
        expect(await textsOf(revived)).toEqual(['Boom']);
      },
    );

    it('M4 between the two parts of a message sends only the second part after the restart', async () => {
      const files = await serveFiles(cleanup, always(PNG, 'image/png'));
      const { service, died, again } = await crashingAgent('step.recorded:kill');
      const { requestId } = service.send({ message: 'First half', attachments: [`${files.url}/second.png`] });
      await died();
      const agent = await again();
      expect(await service.statusOf(requestId)).toMatchObject({ status: 'delivered' });
      expect((await agent.sent()).map(({ text, attachments }) => [text, attachments.length])).toEqual([
        ['First half', 0],
        ['', 1],
      ]);
    });
  });

  describe('M4 kill -9 before a send with the same content as the previous send', () => {
    // On a Mac, the record of the previous send must not count as that of the interrupted one.
    const what = onMac ? 'not sent' : 'unknown';
    const repeated = onMac ? { status: 'delivered' } : UNKNOWN;

    it(`M4 reports the second of two files as ${what}, and a repeat sends ${onMac ? 'only that file' : 'nothing'}`, async () => {
      const files = await serveFiles(cleanup, always(PNG, 'image/png'));
      const { service, agent, died, again } = await crashingAgent('step.begun:kill@2');
      await agent.say(ANNA, { text: 'Hello' });
      const attachments = [`${files.url}/a.png`, `${files.url}/b.png`];
      const frame = service.send({ phone: ANNA, message: null, attachments });
      await died();
      const revived = await again();
      const { error } = await service.statusOf(frame.requestId);
      expect(error?.message).toMatch(
        onMac ? /^The agent was interrupted before .* Send it again\. \(1 of 2/ : /outcome unknown.*\(1 of 2/,
      );
      expect(error?.message).not.toContain('Nothing was sent');
      const { requestId } = service.send({ ...frame, requestId: 'repeat' });
      expect(await service.statusOf(requestId)).toMatchObject(repeated);
      expect(await revived.sent()).toHaveLength(onMac ? 2 : 1);
    });

    it(`M4 reports the second of two texts as ${what}, and a repeat sends ${onMac ? 'that text' : 'nothing'}`, async () => {
      const { service, died, again } = await crashingAgent('step.begun:kill@2');
      const first = service.send({ message: 'Twice' });
      expect(await service.statusOf(first.requestId)).toMatchObject({ status: 'delivered' });
      const second = service.send({ message: 'Twice' });
      await died();
      const revived = await again();
      expect(await service.statusOf(second.requestId)).toMatchObject(onMac ? NOT_SENT : UNKNOWN);
      const { requestId } = service.send({ ...second, requestId: 'repeat' });
      expect(await service.statusOf(requestId)).toMatchObject(repeated);
      expect(await textsOf(revived)).toEqual(onMac ? ['Twice', 'Twice'] : ['Twice']);
    });
  });

  describe('M4 kill -9 during a message whose file cannot be downloaded again', () => {
    /** Serves a file under another name than that of its URL, until it expires. */
    const serveExpiring = async (mime = 'image/png') => {
      let expired = false;
      const { url } = await serveFiles(cleanup, (_request, response) => {
        const headers = { 'content-type': mime, 'content-disposition': 'inline; filename="named.bin"' };
        response.writeHead(expired ? 403 : 200, headers).end(expired ? '' : PNG);
      });
      return { url: `${url}/a`, expire: () => void (expired = true), renew: () => void (expired = false) };
    };

    it.each(['step.sent'])(
      'M4 at %s, after the file was sent, reports it as delivered, and a repeat does not send it again',
      async (failpoint) => {
        const file = await serveExpiring();
        const { service, agent, died, again } = await crashingAgent(`${failpoint}:kill`);
        await agent.say(ANNA, { text: 'Hello' });
        const frame = service.send({ phone: ANNA, message: null, attachments: [file.url] });
        await died();
        file.expire();
        const revived = await again();
        expect(await service.statusOf(frame.requestId)).toMatchObject({ status: 'delivered' });
        file.renew();
        const { requestId } = service.send({ ...frame, requestId: 'repeat' });
        expect(await service.statusOf(requestId)).toMatchObject({ status: 'delivered' });
        expect(await revived.sent()).toHaveLength(1);
      },
    );

    it('M4 after a voice message was sent reports it as delivered', async () => {
      const recording = await serveExpiring('audio/mp4');
      const { service, agent, died, again } = await crashingAgent('step.sent:kill');
      await agent.say(ANNA, { text: 'Hello' });
      const message = withFooter('', { voice: { duration_ms: 1000 } });
      const { requestId } = service.send({ phone: ANNA, message, attachments: [recording.url] });
      await died();
      recording.expire();
      const revived = await again();
      expect(await service.statusOf(requestId)).toMatchObject({ status: 'delivered' });
      expect(await revived.sent()).toHaveLength(1);
    });

    const [outcome, status] = onMac ? ['that nothing was sent', NOT_SENT] : ['an unknown outcome', UNKNOWN];

    it(`M4 before the file was sent reports ${outcome}`, async () => {
      const file = await serveExpiring();
      const { service, agent, died, again } = await crashingAgent('step.begun:kill');
      await agent.say(ANNA, { text: 'Hello' });
      const { requestId } = service.send({ phone: ANNA, message: null, attachments: [file.url] });
      await died();
      file.expire();
      const revived = await again();
      expect(await service.statusOf(requestId)).toMatchObject(status);
      expect(await revived.sent()).toEqual([]);
    });

    it('M4 after its text was sent reports the file as failed, and a repeat sends only the file', async () => {
      const file = await serveExpiring();
      const { service, died, again } = await crashingAgent('step.sent:kill');
      const frame = service.send({ message: 'Look', attachments: [file.url] });
      await died();
      file.expire();
      const revived = await again();
      const { error } = await service.statusOf(frame.requestId);
      expect(error?.message).toMatch(
        /^Attachment 1 could not be downloaded: .*403.*1 of 2 parts had already/,
      );
      file.renew();
      const { requestId } = service.send({ ...frame, requestId: 'repeat' });
      expect(await service.statusOf(requestId)).toMatchObject({ status: 'delivered' });
      expect((await revived.sent()).map(({ text, attachments }) => [text, attachments.length])).toEqual([
        ['Look', 0],
        ['', 1],
      ]);
    });
  });
});

// What surrounds the send is the same for all engines.
describe('on simulated Messages', () => {
  const crashingAgent = useCrashes('simulated', cleanup);

  // The failpoint, the status after the restart, and how often the person received the text by then.
  it.each([
    ['accept.before', 'nothing', 0],
    ['accept.after', 'delivered', 1],
    ['job.begun', 'delivered', 1],
    ['step.before', 'delivered', 1],
    ['step.recorded', 'delivered', 1],
    ['job.performed', 'delivered', 1],
    ['job.ended', 'delivered', 1],
    ['frame.sent', 'delivered', 1],
  ] as const)(
    'M4 kill -9 at %s reports %s after the restart, and a repeat does not send it again',
    (failpoint, answer, received) => killAt(crashingAgent, failpoint, answer, received),
  );

  describe('M4 kill -9 with a full queue', () => {
    it('M4 loses no queued job, sends nothing twice and keeps the order', async () => {
      const { service, agent, again } = await crashingAgent();
      await agent.delay(15);
      const [jobs, killedAfter] = [60, 10];
      const frames = Array.from({ length: jobs }, (_, index) => service.send({ message: `number ${index}` }));
      await until(() => service.statuses.length >= killedAfter, { what: 'the first statuses' });
      await agent.program.kill9();
      const revived = await again();
      for (const { requestId } of frames) await service.statusOf(requestId);
      const answers = frames.map(({ requestId }) =>
        service.statuses.find((status) => status.requestId === requestId),
      );
      const unknown = answers.filter((status) => status?.status === 'failed');
      expect(unknown.length).toBeLessThanOrEqual(1);
      for (const status of unknown) expect(status).toMatchObject(UNKNOWN);
      const texts = await textsOf(revived);
      expect(new Set(texts).size).toBe(texts.length);
      expect(texts.length).toBeGreaterThanOrEqual(jobs - 1);
      const numbers = texts.map((text) => Number(text.replace('number ', '')));
      expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
    });

    it('M4 and fifty repeats of one webhook send one text', async () => {
      const { service, agent, again } = await crashingAgent('step.sent:kill');
      const frame = { messageId: 'the-one', message: 'Once' };
      for (let index = 0; index < 10; index += 1) service.send(frame);
      await agent.program.exited;
      let revived = await again();
      for (let restart = 0; restart < 2; restart += 1) {
        for (let index = 0; index < 20; index += 1) service.send(frame);
        await until(() => service.statuses.length > 0);
        await revived.program.kill9();
        revived = await again();
      }
      const last = service.send(frame);
      await service.statusOf(last.requestId);
      expect(await textsOf(revived)).toEqual(['Once']);
    });
  });
});

describe('M4 kill -9 during a reaction', () => {
  const crashingAgent = useCrashes('simulated', cleanup);

  it('M4 reports the code of a reaction that this Mac no longer supports after the restart', async () => {
    const { service, agent, died, again } = await crashingAgent('step.begun:kill');
    const { guid } = await agent.say(ANNA, { text: 'Hello' });
    const { chat } = await service.messageOf(guid);
    const reaction = { kind: 'emoji', action: 'add', emoji: '🎉', target_message_guid: guid };
    const { requestId } = service.send({ message: withFooter('', { chat_id: chat.id, reaction }) });
    await died();
    await again({ FOOTBRIDGE_MACOS: '15.6' });
    expect((await service.statusOf(requestId)).error?.code).toBe('EMOJI_NOT_IN_RECENTS');
  });
});
