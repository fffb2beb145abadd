import { until } from '@footbridge/testkit/until';
import { describe, expect, it } from 'vitest';

import { authorise, cleanupOf, startWithService, startInProcess, writeMessages } from './crash-setup.ts';

const POINTS = ['afterClaim', 'beforePost', 'afterCrmAccept', 'afterMark', 'beforeAck'] as const;
const PAUSE_MS = 15_000;
const WITHOUT_READS = ['conversations/message.write', 'contacts.readonly', 'contacts.write'];

describe('kill -9', () => {
  it.for(POINTS)(
    'I9 at inbound.%s leaves all twenty messages in the CRM once and in order',
    { timeout: 300_000 },
    async (point, test) => {
      const setup = await startWithService(cleanupOf(test), {}, `inbound.${point}:kill`);
      const { service, mac, doubled, byChat } = setup;
      const written = writeMessages(mac, 4, 5);
      await service.exited;
      await service.start();
      await until(() => mac.unacknowledged === 0, { within: 60_000, what: 'every message acknowledged' });
      expect(doubled()).toBe(0);
      expect(byChat()).toEqual(written);
      expect(mac.acks.every(({ outcome }) => outcome === 'delivered')).toBe(true);
    },
  );

  it('I9 at inbound.afterCrmAccept with a CRM that cannot be read causes at most one duplicate per crash, and flags it', async (test) => {
    const setup = await startWithService(cleanupOf(test), {}, 'inbound.afterCrmAccept:kill');
    const { service, mac, doubled, byChat, crm, operator } = setup;
    await authorise(crm, service.url, WITHOUT_READS);
    const written = writeMessages(mac, 1, 5);
    await service.exited;
    await service.start();
    await until(() => mac.unacknowledged === 0, { within: 60_000 });
    expect(byChat()).toEqual(written);
    expect(doubled()).toBe(1);
    const texts = crm.messages.map(({ message }) => message);
    const twice = texts.findIndex((text, index) => texts.indexOf(text) !== index);
    const [, number] = /message (\d)/.exec(texts[twice] ?? '') ?? [];
    const trail = await operator(`/operator/messages/guid-0-${number ?? ''}`);
    expect(JSON.stringify(trail['steps'])).toContain('"scope":"conversations.readonly"');
  }, 300_000);

  it('I9 with INBOUND_ON_UNCERTAIN=park parks the uncertain message for the operator', async (test) => {
    const { service, mac, doubled, crm, operator } = await startWithService(
      cleanupOf(test),
      {},
      'inbound.afterCrmAccept:kill',
    );
    await authorise(crm, service.url, WITHOUT_READS);
    writeMessages(mac, 1, 3);
    await service.exited;
    await service.start({ INBOUND_ON_UNCERTAIN: 'park' });
    await until(() => mac.unacknowledged === 0, { within: 60_000 });
    expect(doubled()).toBe(0);
    expect(crm.messages).toHaveLength(3);
    expect(mac.acks.map(({ outcome }) => outcome)).toEqual(['rejected', 'delivered', 'delivered']);
    const { messages } = await operator('/operator/messages?status=undeliverable');
    expect(messages).toMatchObject([{ messageId: 'guid-0-0', code: 'UNCERTAIN' }]);
  }, 300_000);
});

describe.concurrent('a pause of fifteen seconds', () => {
  it.for(POINTS)(
    'I6 at inbound.%s while the Mac reconnects neither loses nor duplicates a message, and keeps their order',
    { timeout: 300_000 },
    async (point, test) => {
      const setup = await startInProcess(cleanupOf(test), `inbound.${point}:pause:${PAUSE_MS}`);
      const { mac, doubled, byChat } = setup;
      const written = writeMessages(mac, 3, 1);
      await new Promise((resolve) => setTimeout(resolve, 5000));
      expect(mac.unacknowledged).toBe(3);
      mac.cut();
      await until(() => mac.unacknowledged === 0, { within: 60_000, what: 'every message acknowledged' });
      expect(doubled()).toBe(0);
      expect(byChat()).toEqual(written);
    },
  );
});

describe('a process that is suspended for fifteen seconds', () => {
  it('I9 neither loses nor duplicates a message', async (test) => {
    const { mac, doubled, byChat, service, crm } = await startWithService(cleanupOf(test), {}, '');
    await until(() => mac.isConnected, { within: 60_000 });
    crm.injectFault({ match: 'inbound', how: { delayMs: 100 }, times: 6 });
    const written = writeMessages(mac, 3, 3);
    await until(() => crm.callsTo('inbound').length > 0);
    service.pause();
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    service.resume();
    await until(() => mac.unacknowledged === 0, { within: 60_000 });
    expect(byChat()).toEqual(written);
    expect(doubled()).toBe(0);
  }, 300_000);
});
