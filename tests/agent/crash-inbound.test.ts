import { Agent } from '@footbridge/testkit/agent';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { NOT_SENT, textsOf, UNKNOWN, useCrashes } from './crashing-agent.ts';
import { ANNA, PNG } from './running-agent.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

// All engines read with the same reader.
describe('on a Mac', () => {
  const crashingAgent = useCrashes('macos', cleanup);

  describe('kill -9 at a random moment', () => {
    const RESTARTS = 2;
    const MOST_SENDS = 8;

    it('M4 over several restarts sends nothing twice and reports every inbound message once', async () => {
      const { service, agent, again } = await crashingAgent();
      const said: string[] = [];
      const sent: string[] = [];
      let current = agent;
      for (let restart = 0; restart < RESTARTS; restart += 1) {
        await current.delay(3);
        // Killed after a random amount of work, not of time, so that a loaded machine does the same.
        const last = 5 + Math.floor(Math.random() * (MOST_SENDS - 5));
        const before = sent.length;
        let dies: Promise<void> | undefined;
        for (let index = 0; service.connected > 0; index += 1) {
          if (index === last) {
            // Under load the agent may not have saved them yet; what it has not saved, it never sends.
            await until(() => sent.slice(before).every((id) => service.confirmed.includes(id)));
            dies = current.program.kill9();
          }
          const frame = service.send({ message: `out ${restart}.${index}` });
          sent.push(frame.requestId);
          // The response means that the row is in the store: from then on it must not be lost.
          const heard = await current.say(ANNA, { text: `in ${restart}.${index}` }).catch(() => undefined);
          if (heard !== undefined) said.push(heard.guid);
        }
        await dies;
        current = await again();
      }
      await until(() => current.queued() === 0, { what: 'an empty queue' });
      for (const guid of said) await service.messageOf(guid);

      const texts = await textsOf(current);
      expect(texts.length).toBeGreaterThan(RESTARTS * 2);
      expect(new Set(texts).size).toBe(texts.length);
      const numbers = new Map<string, number>();
      for (const { guid, seq } of service.received) {
        expect(numbers.get(guid) ?? seq, 'a message keeps its seq').toBe(seq);
        numbers.set(guid, seq);
      }
      const order = [...numbers.keys()].filter((guid) => said.includes(guid));
      expect(order).toEqual(said);
      for (const status of service.statuses) {
        expect(sent).toContain(status.requestId);
        if (status.status === 'failed')
          expect([NOT_SENT, UNKNOWN]).toContainEqual({ status: 'failed', error: status.error });
      }
    });
  });

  describe('I6 kill -9 during an inbound message', () => {
    it.each(['inbound.held', 'inbound.before', 'inbound.after', 'frame.sent'])(
      'I6 at %s loses neither the message nor its order',
      async (failpoint) => {
        const { service, agent, died, again } = await crashingAgent(`${failpoint}:kill`);
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
        // Only the frame that was on the wire may be repeated, with the same seq.
        const seqs = new Map(service.received.map((frame) => [frame.guid, frame.seq]));
        for (const frame of service.received) expect(seqs.get(frame.guid)).toBe(frame.seq);
        expect(service.received.find((frame) => frame.text === 'One')?.attachments).toHaveLength(1);
      },
    );
  });
});

describe('two agents in one data folder', () => {
  const crashingAgent = useCrashes('simulated', cleanup);

  it('M2 do not both run: the second agent exits with a message', async () => {
    const { service, agent } = await crashingAgent();
    const second = new Agent({
      url: service.url,
      license: 'KEY-1',
      location: 'location1',
      dataDir: agent.program.dataDir,
    });
    cleanup.add(() => second.stop().catch(() => {}));
    await second.start().catch(() => {});
    expect((await second.exited).code).toBe(3);
    expect(second.logs.some((line) => line.msg.includes('Another agent is running'))).toBe(true);
  });
});
