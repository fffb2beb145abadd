import { checkAgainst, object } from '@footbridge/protocol/schema';
import type { FromSchema } from '@footbridge/protocol/schema';
import type { Clock } from '@footbridge/runtime/clock';
import type { Log } from '@footbridge/runtime/log';

import type { Broadcast } from '../../platform/changes/broadcast.ts';
import type { Capture, Captures } from './captures-sql.ts';
import type { Changes } from '../../platform/changes/changes.ts';

export interface TextCaptureDeps {
  readonly captures: Captures;
  readonly changes: Pick<Changes, 'announce' | 'listen'>;
  readonly broadcast: Broadcast;
  readonly clock: Pick<Clock, 'now' | 'after'>;
  readonly log: Log;
}

const CAPTURE_MS = 15 * 60_000;
/** Maximum texts on this node, for all locations together. */
const MAX_TEXTS = 500;
/** No message is longer. */
const MAX_CHARACTERS = 20_000;

const TEXT = { type: 'string' } as const;
const CAPTURED = object({ locationId: TEXT, id: TEXT, text: TEXT });

interface Active {
  readonly until: number;
  readonly cancel: () => void;
}

/**
 * Lets the operator read the texts of a location for 15 minutes. Texts are kept in the memory of every node, never in a database or a log,
 * and dropped when the capture ends. The capture itself is stored, so that all nodes know of it.
 */
export class TextCapture {
  readonly #deps: TextCaptureDeps;
  readonly #active = new Map<string, Active>();
  /** By location and journal id, oldest first. */
  readonly #texts = new Map<string, { readonly locationId: string; readonly text: string }>();
  readonly #stop: (() => void)[];

  constructor(deps: TextCaptureDeps) {
    this.#deps = deps;
    this.#stop = [
      deps.changes.listen('capture', () => void this.#follow()),
      deps.broadcast.listen('captured', (content) => {
        const captured = checkAgainst(CAPTURED, content);
        if (captured.ok) this.#keep(captured.value);
      }),
    ];
  }

  static async open(deps: TextCaptureDeps): Promise<TextCapture> {
    const capture = new TextCapture(deps);
    await capture.#follow();
    return capture;
  }

  /** Keeps the text of a message if its location is captured. */
  take(locationId: string, id: string, text: string): void {
    if (!this.#active.has(locationId)) return;
    const captured = { locationId, id, text: text.slice(0, MAX_CHARACTERS).toWellFormed() };
    this.#keep(captured);
    this.#deps.broadcast.publish('captured', captured);
  }

  /** Returns undefined when the location is not captured. */
  until(locationId: string): number | undefined {
    const active = this.#active.get(locationId);
    return active !== undefined && active.until > this.#deps.clock.now() ? active.until : undefined;
  }

  /** Returns the text of a message that passed while its location was captured, as long as the capture lasts. */
  textOf(locationId: string, id: string): string | undefined {
    if (this.until(locationId) === undefined) return undefined;
    return this.#texts.get(keyOf(locationId, id))?.text;
  }

  /** Captures the location for 15 minutes from now, on all nodes. */
  async start(locationId: string): Promise<number> {
    const until = this.#deps.clock.now() + CAPTURE_MS;
    await this.#deps.captures.set({ locationId, until });
    await this.#follow();
    await this.#deps.changes.announce('capture', locationId);
    return until;
  }

  /** Drops the texts on this node, of one location or of all. Captures continue. */
  forgetTexts(locationId?: string): void {
    for (const [key, text] of this.#texts)
      if (locationId === undefined || text.locationId === locationId) this.#texts.delete(key);
  }

  /** Ends the capture on all nodes. Resolves with whether there was one. */
  async stop(locationId: string): Promise<boolean> {
    const wasActive = await this.#deps.captures.remove(locationId);
    this.#forget(locationId);
    await this.#deps.changes.announce('capture', locationId);
    return wasActive;
  }

  close(): void {
    for (const stop of this.#stop) stop();
    this.#forgetAll();
  }

  /** Adopts the stored captures. If they cannot be read, this node captures nothing: any of them may have ended. */
  async #follow(): Promise<void> {
    try {
      const captures = await this.#deps.captures.list();
      const wanted = new Set(captures.map(({ locationId }) => locationId));
      for (const locationId of this.#active.keys()) if (!wanted.has(locationId)) this.#forget(locationId);
      for (const capture of captures) this.#activate(capture);
    } catch (error) {
      this.#forgetAll();
      this.#deps.log.warn(
        { event: 'capture.unreadable', err: error },
        'text captures unavailable; capturing nothing until the next change',
      );
    }
  }

  #activate({ locationId, until }: Capture): void {
    const active = this.#active.get(locationId);
    if (active?.until === until) return;
    active?.cancel();
    const { clock } = this.#deps;
    // The clock of the node that started the capture may be ahead; this bounds the duration by this node's clock.
    const leftMs = Math.min(until - clock.now(), CAPTURE_MS);
    const cancel = clock.after(leftMs, () => this.#forget(locationId));
    this.#active.set(locationId, { until, cancel });
  }

  #keep({ locationId, id, text }: FromSchema<typeof CAPTURED>): void {
    if (!this.#active.has(locationId)) return;
    this.#texts.set(keyOf(locationId, id), { locationId, text });
    if (this.#texts.size <= MAX_TEXTS) return;
    for (const oldest of this.#texts.keys()) {
      this.#texts.delete(oldest);
      break;
    }
  }

  #forget(locationId: string): void {
    this.#active.get(locationId)?.cancel();
    this.#active.delete(locationId);
    this.forgetTexts(locationId);
  }

  #forgetAll(): void {
    for (const locationId of this.#active.keys()) this.#forget(locationId);
  }
}

const keyOf = (locationId: string, id: string) => `${id} ${locationId}`;
