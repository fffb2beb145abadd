import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Exchange } from './wire/exchange.ts';
import type { World } from './world.ts';

/** Whatever happens leaves a trace on the wire; this is for the rest. */
const LOOK_MS = 500;
const SOON_MS = 20;

/** What the page shows, pushed as server-sent events: `wire` entries as they happen, `phone` and `inbox` when they changed. */
export class Snapshots {
  readonly #world: World;
  readonly #readers = new Set<ServerResponse>();
  readonly #latest = new Map<'phone' | 'inbox', string>();
  readonly #unlisten: () => void;
  readonly #timer: NodeJS.Timeout;
  #isStale = false;
  #isLooking = false;

  constructor(world: World) {
    this.#world = world;
    this.#unlisten = world.wire.listen((entry) => {
      this.#push('wire', JSON.stringify(entry));
      this.lookSoon();
    });
    this.#timer = setInterval(() => this.lookSoon(), LOOK_MS);
    this.lookSoon();
  }

  /** Something happened: everybody who reads sees it in a moment. One look at a time, so that none comes late. */
  lookSoon(): void {
    this.#isStale = true;
    if (!this.#isLooking) void this.#lookWhileStale();
  }

  stream(response: ServerResponse): void {
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
    // Whoever stops the demo and starts it again finds the page awake.
    response.write('retry: 1000\n\n');
    for (const entry of this.#world.wire.entries)
      response.write(event('wire', JSON.stringify(entry satisfies Exchange)));
    for (const [name, data] of this.#latest) response.write(event(name, data));
    this.#readers.add(response);
    response.on('close', () => this.#readers.delete(response));
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#unlisten();
    for (const reader of this.#readers) reader.end();
  }

  async #lookWhileStale(): Promise<void> {
    this.#isLooking = true;
    while (this.#isStale) {
      await sleep(SOON_MS);
      this.#isStale = false;
      await this.#look();
    }
    this.#isLooking = false;
  }

  /** A Mac or a CRM that is being restarted has nothing to say for a moment. */
  async #look(): Promise<void> {
    const { mac, crm } = this.#world;
    const [phone, inbox] = await Promise.allSettled([
      mac.world(),
      Promise.all([crm.messages(), crm.statuses(), crm.webhooks()]).then(
        ([messages, statuses, webhooks]) => ({ messages, statuses, webhooks }),
      ),
    ]);
    if (phone.status === 'fulfilled') this.#changed('phone', JSON.stringify(phone.value));
    if (inbox.status === 'fulfilled') this.#changed('inbox', JSON.stringify(inbox.value));
  }

  #changed(name: 'phone' | 'inbox', data: string): void {
    if (this.#latest.get(name) === data) return;
    this.#latest.set(name, data);
    this.#push(name, data);
  }

  #push(name: string, data: string): void {
    for (const reader of this.#readers) reader.write(event(name, data));
  }
}

const event = (name: string, data: string): string => `event: ${name}\ndata: ${data}\n\n`;
