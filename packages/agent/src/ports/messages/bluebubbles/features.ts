import type { Clock } from '@footbridge/runtime/clock';

import type { StoreMemory } from '../store-generation.ts';

/** A feature that works only on some Macs. On macOS 26, the helper can lose replies, and a Tapback can make Messages quit. */
export type Feature = 'replies' | 'reactions';

interface Experience {
  readonly works: boolean;
  /** Consecutive failures. */
  readonly failures: number;
  readonly at: number;
}

type Experiences = Partial<Record<Feature, Experience>>;

interface Remembered {
  /** The versions of macOS and BlueBubbles on which the results were observed. */
  readonly versions: string;
  readonly features: Experiences;
  /** How many messages the server has sent more than once, and when it last did. */
  readonly copies?: { readonly count: number; readonly at: number };
}

/** After this many failures in a row, a feature is no longer used. */
const MAX_FAILURES = 2;
/** After this time, a failed feature is tried again. */
const RETRY_MS = 24 * 3600_000;

/**
 * Remembers which features work on this Mac. Neither a call nor a version number shows it. The first uses of a feature are the test, and the
 * row in the store is the result.
 */
export class Features {
  readonly #memory: StoreMemory;
  readonly #clock: Pick<Clock, 'now'>;
  #remembered: Remembered;

  constructor(memory: StoreMemory, clock: Pick<Clock, 'now'>) {
    this.#memory = memory;
    this.#clock = clock;
    this.#remembered = parse(memory.load());
  }

  /** Discards the results of other versions. */
  setVersions(versions: string): void {
    if (this.#remembered.versions !== versions) this.#save({ ...this.#remembered, versions, features: {} });
  }

  state(feature: Feature): 'works' | 'untested' | 'failed' {
    const known = this.#remembered.features[feature];
    if (known === undefined) return 'untested';
    if (known.failures >= MAX_FAILURES && this.#clock.now() - known.at < RETRY_MS) return 'failed';
    return known.works ? 'works' : 'untested';
  }

  worked(feature: Feature): void {
    this.#record(feature, { works: true, failures: 0 });
  }

  failed(feature: Feature): void {
    const { works = false, failures = 0 } = this.#remembered.features[feature] ?? {};
    this.#record(feature, { works, failures: failures + 1 });
  }

  get copies(): Remembered['copies'] {
    return this.#remembered.copies;
  }

  sentTwice(): void {
    const count = (this.#remembered.copies?.count ?? 0) + 1;
    this.#save({ ...this.#remembered, copies: { count, at: this.#clock.now() } });
  }

  #record(feature: Feature, experience: Omit<Experience, 'at'>): void {
    const known = this.#remembered.features[feature];
    if (known?.works === true && experience.works && known.failures === 0) return;
    const features = { ...this.#remembered.features, [feature]: { ...experience, at: this.#clock.now() } };
    this.#save({ ...this.#remembered, features });
  }

  #save(remembered: Remembered): void {
    this.#remembered = remembered;
    this.#memory.save(JSON.stringify(remembered));
  }
}

function parse(saved: string | undefined): Remembered {
  // Only this class writes the note.
  return saved === undefined ? { versions: '', features: {} } : (JSON.parse(saved) as Remembered);
}
