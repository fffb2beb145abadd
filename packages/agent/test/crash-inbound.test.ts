import { Agent } from '@footbridge/testkit/agent';
import { undoList } from '@footbridge/testkit/undo';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { crashingAgent, UNKNOWN } from './crashing-agent.ts';
import { ANNA, PNG } from './running-agent.ts';

const undo = undoList();
afterEach(() => undo.run());

describe('kill -9 at any moment', () => {
  it('M4 over five lives nothing is sent twice, and every message that came in is passed on once', async () => {
    const { service, agent, again } = await crashingAgent(undo, 'nowhere:kill');
    const said: string[] = [];
    const sent: string[] = [];
    let living = agent;
    for (let life = 0; life < 5; life += 1) {
      await living.change({ delayMs: 3 });
      // Killed after a random amount of work, not of time: a busy machine does little in little time.
      const last = 5 + Math.floor(Math.random() * 20);
      let dies: Promise<void> | undefined;
      for (let index = 0; service.connected > 0; index += 1) {
        if (index === last) dies = living.kill9();
        const frame = service.send({ message: `out ${life}.${index}` });
        sent.push(frame.requestId);
        // The answer means that the row is in the store: from then on it must not be lost.
        const heard = await living.say(ANNA, { text: `in ${life}.${index}` }).catch(() => undefined);
        if (heard !== undefined) said.push(heard.guid);
      }
      await dies;
      living = await again();
    }
    await until(async () => (await living.world()).queue === 0, { what: 'an empty queue' });
    for (const guid of said) await service.messageOf(guid);

    const texts = (await living.world()).chats.flatMap((chat) =>
      chat.messages.filter((message) => message.from === 'me').map((message) => message.text),
    );
    expect(texts.length).toBeGreaterThan(10);
    expect(new Set(texts).size).toBe(texts.length);
    const numbers = new Map<string, number>();
    for (const { guid, seq } of service.received) {
      expect(numbers.get(guid) ?? seq, 'one message, one number').toBe(seq);
      numbers.set(guid, seq);
    }
    const order = [...numbers.keys()].filter((guid) => said.includes(guid));
    expect(order).toEqual(said);
    for (const status of service.statuses) {
      expect(sent).toContain(status.requestId);
      if (status.status === 'failed') expect(status).toMatchObject(UNKNOWN);
    }
  });
});

describe('I6 kill -9 while a message comes in', () => {
  it.each(['inbound.held', 'inbound.before', 'inbound.after', 'frame.sent'])(
    'I6 at %s: it arrives, and the next one after it',
    async (failpoint) => {
      const { service, agent, died, again } = await crashingAgent(undo, `${failpoint}:kill`);
      service.autoAck = false;
      const photo = { name: 'a.png', mime: 'image/png', base64: PNG.toString('base64') };
      const said = await agent.say(ANNA, { text: 'One', attachments: [photo] }).catch(() => undefined);
      await died();
      service.autoAck = true;
      const revived = await again();
      const next = await revived.say(ANNA, { text: 'Two' });
      await service.messageOf(next.guid);
      const guids = service.received.map((frame) => frame.guid);
      expect(service.received.map((frame) => frame.text)).toContain('One');
      if (said !== undefined) expect(guids).toContain(said.guid);
      // A repeat is allowed only of the frame that was on the wire, and under its old number.
      const seqs = new Map(service.received.map((frame) => [frame.guid, frame.seq]));
      for (const frame of service.received) expect(seqs.get(frame.guid)).toBe(frame.seq);
      expect(service.received.find((frame) => frame.text === 'One')?.attachments).toHaveLength(1);
    },
  );
});

describe('two agents', () => {
  it('M2 cannot work on one folder: the second says so and ends', async () => {
    const { service, agent } = await crashingAgent(undo, 'nowhere:kill');
    const second = new Agent({
      url: service.url,
      license: 'KEY-1',
      location: 'location1',
      dataDir: agent.dataDir,
    });
    undo.add(() => second.stop().catch(() => {}));
    await second.start().catch(() => {});
    expect((await second.exited).code).toBe(3);
    expect(second.logs.some((line) => line.msg.includes('Another agent is running'))).toBe(true);
  });
});
