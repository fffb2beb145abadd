import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Exchange } from './wire/exchange.ts';
import type { Demo } from './demo.ts';

/** The polling interval for changes that cause no traffic. */
const POLL_MS = 500;
const DEBOUNCE_MS = 20;

type StateName = 'phone' | 'inbox' | 'scenarios';

/** Streams the state of the page as server-sent events: `wire` for each entry, `phone`, `inbox` and `scenarios` when they change. */
export class Snapshots {
  readonly #demo: Demo;
  readonly #clients = new Set<ServerResponse>();
  readonly #latest = new Map<StateName, string>();
  readonly #unsubscribe: () => void;
  readonly #timer: NodeJS.Timeout;
  #isStale = false;
  #isRefreshing = false;

  constructor(demo: Demo) {
    this.#demo = demo;
    this.#unsubscribe = demo.wire.subscribe((entry) => {
      this.#push('wire', JSON.stringify(entry));
      this.refreshSoon();
    });
    this.#timer = setInterval(() => this.refreshSoon(), POLL_MS);
    this.refreshSoon();
  }

  /** Schedules a refresh. Refreshes do not overlap, so that an older snapshot never follows a newer one. */
  refreshSoon(): void {
    this.#isStale = true;
    if (!this.#isRefreshing) void this.#refreshWhileStale();
  }

  stream(response: ServerResponse): void {
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
    // After a restart of the demo, an open page reconnects within a second.
    response.write('retry: 1000\n\n');
    for (const entry of this.#demo.wire.entries)
      response.write(event('wire', JSON.stringify(entry satisfies Exchange)));
    for (const [name, data] of this.#latest) response.write(event(name, data));
    this.#clients.add(response);
    response.on('close', () => this.#clients.delete(response));
  }

  /** Sends a state to every page, unless it is the same as before. */
  update(name: StateName, state: unknown): void {
    const data = JSON.stringify(state);
    if (this.#latest.get(name) === data) return;
    this.#latest.set(name, data);
    this.#push(name, data);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#unsubscribe();
    for (const client of this.#clients) client.end();
  }

  async #refreshWhileStale(): Promise<void> {
    this.#isRefreshing = true;
    while (this.#isStale) {
      await sleep(DEBOUNCE_MS);
      this.#isStale = false;
      await this.#refresh();
    }
    this.#isRefreshing = false;
  }

  /** While the CRM does not respond, the last snapshot is kept. */
  async #refresh(): Promise<void> {
    const { crm } = this.#demo;
    const [phone, inbox] = await Promise.allSettled([
      this.#demo.phone.state(),
      Promise.all([crm.messages(), crm.statuses(), crm.webhooks()]).then(
        ([messages, statuses, webhooks]) => ({ messages, statuses, webhooks }),
      ),
    ]);
    if (phone.status === 'fulfilled') this.update('phone', phone.value);
    if (inbox.status === 'fulfilled') this.update('inbox', inbox.value);
  }

  #push(name: string, data: string): void {
    for (const client of this.#clients) client.write(event(name, data));
  }
}

const event = (name: string, data: string): string => `event: ${name}\ndata: ${data}\n\n`;
