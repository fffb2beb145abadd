import type { Clock } from '@footbridge/runtime/clock';
import type { Log } from '@footbridge/runtime/log';

export interface TokenUseDeps {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Pick<Log, 'warn'>;
  /** Called for each take-over, for metrics. */
  readonly takenOver: () => void;
}

export interface TakeOvers {
  /** How often the device connected from another address than before, since this node started. */
  readonly count: number;
  /** Two addresses have used the token in turn within the past minutes. */
  readonly isAlternating: boolean;
}

interface Use {
  readonly deviceId: string;
  count: number;
  /** The latest addresses, oldest first, each with the time of its first connection. */
  recent: readonly { readonly address: string; readonly at: number }[];
  warnedAt: number;
}

const WINDOW_MS = 600_000;
/** Connections from addresses A, B, A, B: a Mac that moves does not alternate like this within minutes. */
const ALTERNATION = 4;
const MAX_DEVICES = 50_000;
const NONE: TakeOvers = { count: 0, isAlternating: false };

/** Detects device tokens that are used from two addresses, because one of them may be a copy (T57). */
export class TokenUse {
  readonly #deps: TokenUseDeps;
  readonly #uses = new Map<string, Use>();

  constructor(deps: TokenUseDeps) {
    this.#deps = deps;
  }

  connected({ deviceRow, deviceId }: { deviceRow: string; deviceId: string }, address: string): void {
    const { clock, log, takenOver } = this.#deps;
    const now = clock.monotonic();
    const use = this.#useOf(deviceRow, deviceId);
    const last = use.recent.at(-1);
    if (last?.address === address) return;
    // Copied by slice, which reserves no room for more items: push would reserve room for 17 per Mac.
    use.recent = [...use.recent, { address, at: now }].slice(-ALTERNATION);
    if (last === undefined) return;
    use.count++;
    takenOver();
    if (!isAlternating(use, now) || now - use.warnedAt < WINDOW_MS) return;
    use.warnedAt = now;
    log.warn(
      { event: 'device.two_addresses', deviceId, takeOvers: use.count },
      'two addresses use the token of one Mac in turn, so it may have been copied; if the Mac has not moved, revoke it with footbridge device revoke and activate it again',
    );
  }

  of(deviceRow: string): TakeOvers {
    const use = this.#uses.get(deviceRow);
    if (use === undefined) return NONE;
    return { count: use.count, isAlternating: isAlternating(use, this.#deps.clock.monotonic()) };
  }

  #useOf(deviceRow: string, deviceId: string): Use {
    const known = this.#uses.get(deviceRow);
    if (known !== undefined) return known;
    const [oldest] = this.#uses.keys();
    if (this.#uses.size >= MAX_DEVICES && oldest !== undefined) this.#uses.delete(oldest);
    const use: Use = { deviceId, count: 0, recent: [], warnedAt: Number.NEGATIVE_INFINITY };
    this.#uses.set(deviceRow, use);
    return use;
  }
}

const isAlternating = ({ recent }: Use, now: number): boolean =>
  recent.length === ALTERNATION &&
  now - (recent[0]?.at ?? 0) < WINDOW_MS &&
  new Set(recent.map(({ address }) => address)).size === 2;
