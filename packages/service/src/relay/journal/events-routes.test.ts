import { connect } from 'node:net';
import { promisify } from 'node:util';

import { silentLog } from '@footbridge/testkit/silent-log';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { FakeClock } from '@footbridge/testkit/fake-clock';
import { until } from '@footbridge/testkit/until';
import fastify from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';

import { createMemoryMessageEvents } from './message-events-memory.ts';
import { RecentEvents } from './recent-events.ts';
import { renderError } from '../../platform/http/render-error.ts';
import { asOperator } from '../../platform/operator/testing/as-operator.ts';
import { BATCH_MS } from './event-stream.ts';
import { eventsRoutes } from './events-routes.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

const ENTRY = {
  id: 'r1',
  direction: 'outbound',
  locationId: 'loc1',
  messageId: 'm1',
  kind: 'text',
  phoneMasked: null,
  length: 3,
} as const;

async function start(authenticated: () => Promise<void> = async () => {}) {
  const clock = new FakeClock();
  const feed = new RecentEvents('boot');
  feed.addEntry(ENTRY);
  const app = fastify();
  cleanup.add(() => app.close());
  app.setErrorHandler(renderError(silentLog));
  asOperator(app);
  app.addHook('onRequest', authenticated);
  const access = { isValid: true };
  eventsRoutes({
    events: createMemoryMessageEvents(feed),
    auth: { isValid: async () => access.isValid },
    clock,
  })(app);
  const url = await app.listen({ port: 0, host: '127.0.0.1' });

  async function listen(lastId?: string) {
    const stop = new AbortController();
    cleanup.add(() => stop.abort());
    const answer = await fetch(`${url}/operator/events`, {
      signal: stop.signal,
      ...(lastId !== undefined && { headers: { 'Last-Event-ID': lastId } }),
    });
    let text = '';
    const decoder = new TextDecoder();
    const reading = (async () => {
      for await (const chunk of answer.body ?? []) text += decoder.decode(chunk, { stream: true });
    })().catch(() => {});
    return { answer, seen: () => text, reading, stop: () => stop.abort() };
  }
  return { app, feed, clock, url, listen, access };
}

const happen = (feed: RecentEvents, count = 1) => {
  for (let index = 0; index < count; index++)
    feed.add(0, 'r1', 'mac_reported', { state: 'failed', code: 'TIMEOUT' });
};

describe('GET /operator/events', () => {
  it('streams each event with an id as it happens', async () => {
    const { feed, listen } = await start();
    const { answer, seen } = await listen();
    expect(answer.headers.get('content-type')).toBe('text/event-stream');
    happen(feed);
    await until(() => seen().includes('mac_reported'));
    const [, id, data] = /id: (\S+)\nevent: message\ndata: (.*)\n\n/.exec(seen()) ?? [];
    expect(id).toBe('boot-0');
    expect(JSON.parse(data ?? '')).toEqual({
      at: '1970-01-01T00:00:00.000Z',
      id: 'r1',
      step: 'mac_reported',
      status: 'failed',
      code: 'TIMEOUT',
      detail: null,
      direction: 'outbound',
      locationId: 'loc1',
      messageId: 'm1',
      kind: 'text',
      phone: null,
      length: 3,
    });
  });

  it('resumes after Last-Event-ID, and reports a gap when events were missed', async () => {
    const { feed, listen } = await start();
    happen(feed, 3);
    const resumed = await listen('boot-0');
    await until(() => resumed.seen().includes('boot-2'));
    expect(resumed.seen()).toContain('id: boot-1');
    expect(resumed.seen()).not.toContain('id: boot-0\n');
    expect(resumed.seen()).not.toContain('event: gap');
    const stranger = await listen('another-5');
    await until(() => stranger.seen().includes('boot-2'));
    expect(stranger.seen()).toContain('event: gap');
  });

  it('sends a keep-alive comment every fifteen seconds', async () => {
    const { clock, listen } = await start();
    const { seen } = await listen();
    await until(() => seen().includes('retry'));
    await clock.advance(15_000);
    await until(() => seen().includes(': alive'));
  });

  it('disconnects only the client that does not read', async () => {
    const { feed, url, listen, clock } = await start();
    const good = await listen();
    const { port } = new URL(url);
    const slow = connect(Number(port), '127.0.0.1');
    cleanup.add(() => slow.destroy());
    slow.write('GET /operator/events HTTP/1.1\r\nHost: x\r\n\r\n');
    await new Promise((resolve) => slow.once('readable', resolve));
    const closed = new Promise((resolve) => slow.once('close', resolve));
    for (let round = 0; round < 60; round++) {
      happen(feed, 500);
      await new Promise((resolve) => setImmediate(resolve));
    }
    slow.on('error', () => {});
    slow.resume();
    await closed;
    await clock.advance(BATCH_MS);
    await until(() => good.seen().includes('boot-29999'));
  });

  it('T52 renders each event once for all clients', async () => {
    const { feed, listen } = await start();
    const clients = [await listen(), await listen()];
    let rendered = 0;
    const recorded = {
      get code() {
        rendered++;
        return 'TIMEOUT';
      },
    };
    feed.add(0, 'r1', 'mac_reported', recorded);
    for (const { seen } of clients) await until(() => seen().includes('boot-0'));
    expect(rendered).toBe(1);
  });

  it('T46 ends the stream when its token or session is no longer valid', async () => {
    const { clock, listen, access } = await start();
    const { seen, reading } = await listen();
    await until(() => seen().includes('retry'));
    await clock.advance(15_000);
    await until(() => seen().includes(': alive'));
    access.isValid = false;
    await clock.advance(15_000);
    await reading;
  });

  it('T52 limits the number of clients per token', async () => {
    const { listen } = await start();
    const all = await Promise.all(Array.from({ length: 50 }, () => listen()));
    expect((await listen()).answer.status).toBe(429);
    all[0]?.stop();
    await until(async () => (await listen()).answer.status === 200);
  });

  it('T52 keeps no slot of clients that disconnect before they are authenticated', async () => {
    const authentication = Promise.withResolvers<void>();
    let waiting = 0;
    const { app, url, listen } = await start(async () => {
      waiting++;
      await authentication.promise;
    });
    const clients = new AbortController();
    for (let client = 0; client < 50; client++)
      fetch(`${url}/operator/events`, { signal: clients.signal }).catch(() => {});
    await until(() => waiting === 50);
    clients.abort();
    await until(async () => (await promisify(app.server.getConnections.bind(app.server))()) === 0);
    authentication.resolve();
    expect((await listen()).answer.status).toBe(200);
  });

  it('ends the streams of its clients when the listener closes', async () => {
    const { app, listen } = await start();
    const { reading } = await listen();
    await app.close();
    await reading;
  });
});
