import { every } from '@footbridge/runtime/clock';
import type { Clock } from '@footbridge/runtime/clock';
import type { Log } from '@footbridge/runtime/log';

/** Why nodes of one database do not find each other in Redis. */
export type Separation = 'secret' | 'redis' | 'version';

/** What a node tells the others through the database. */
interface Notice {
  readonly node: string;
  readonly host: string;
  /** A prefix that depends on the node secret. */
  readonly prefix: string;
  /** Whether it uses the prefix of earlier versions instead. */
  readonly isEarlier: boolean;
}

export interface NodeWatchDeps {
  readonly self: Notice;
  /** Tells all nodes of the database. */
  readonly announce: (notice: string) => Promise<void>;
  readonly listen: (listener: (notice: string) => void) => () => void;
  readonly redis: { ping(): Promise<void>; hasNode(node: string): Promise<boolean> };
  /** Resolves with whether nodes of an earlier version run, which this node cannot hear. */
  readonly hasEarlierNodes: () => Promise<boolean>;
  readonly clock: Clock;
  readonly log: Log;
}

interface OtherNode {
  readonly seenAt: number;
  readonly separation: Separation | undefined;
  /** When it was separate first. */
  readonly since: number;
}

const ANNOUNCE_MS = 10_000;
/** A node is separate once two of its announcements were: late announcements of a stopped node may arrive together. */
const CERTAIN_MS = 0.75 * ANNOUNCE_MS;
const GONE_MS = 4 * ANNOUNCE_MS;

/**
 * Finds nodes that share the database and not the leases, because of another node secret, another Redis or another version. Each takes the
 * Macs of the others for not connected.
 */
export class NodeWatch {
  readonly #deps: NodeWatchDeps;
  readonly #others = new Map<string, OtherNode>();
  readonly #stops: readonly (() => void)[];
  #hasEarlierNodes = false;

  constructor(deps: NodeWatchDeps) {
    this.#deps = deps;
    this.#stops = [
      deps.listen((notice) => void this.#onNotice(notice)),
      every(deps.clock, ANNOUNCE_MS, () => void this.#announce()),
    ];
    void this.#announce();
  }

  /** Returns why other nodes of this database are not in Redis with this one. */
  separations(): ReadonlySet<Separation> {
    const now = this.#deps.clock.monotonic();
    const found = new Set<Separation>(this.#hasEarlierNodes ? ['version'] : []);
    for (const [node, { separation, since, seenAt }] of this.#others) {
      if (now - seenAt >= GONE_MS) this.#others.delete(node);
      else if (separation !== undefined && seenAt - since >= CERTAIN_MS) found.add(separation);
    }
    return found;
  }

  close(): void {
    for (const stop of this.#stops) stop();
  }

  /** Never rejects. A node without Redis does not announce itself: its health shows why the others do not find it. */
  async #announce(): Promise<void> {
    const { self, announce, redis, hasEarlierNodes, log } = this.#deps;
    try {
      await redis.ping();
      await announce(JSON.stringify(self));
      this.#hasEarlierNodes = await hasEarlierNodes();
    } catch (error) {
      log.debug({ event: 'cluster.not_announced', err: error }, 'node not announced to the others');
    }
  }

  /** Never rejects. */
  async #onNotice(text: string): Promise<void> {
    const { self, clock, log } = this.#deps;
    const notice = noticeOf(text);
    if (notice === undefined || notice.node === self.node) return;
    const { node, host } = notice;
    const known = this.#others.get(node);
    try {
      const separation = await this.#separationFrom(notice);
      const seenAt = clock.monotonic();
      const isSame = known !== undefined && known.separation === separation;
      this.#others.set(node, { seenAt, separation, since: isSame ? known.since : seenAt });
      if (separation !== undefined && !isSame)
        log.warn({ event: 'cluster.node_separate', host, because: separation }, 'node not found in redis');
    } catch {
      // Nothing is known while Redis is away.
      this.#others.delete(node);
    }
  }

  async #separationFrom({ node, prefix, isEarlier }: Notice): Promise<Separation | undefined> {
    const { self, redis } = this.#deps;
    if (prefix !== self.prefix) return 'secret';
    if (isEarlier !== self.isEarlier) return 'version';
    return (await redis.hasNode(node)) ? undefined : 'redis';
  }
}

function noticeOf(text: string): Notice | undefined {
  try {
    return JSON.parse(text) as Notice;
  } catch {
    // The subject `*`: earlier notices are no longer stored.
    return undefined;
  }
}
