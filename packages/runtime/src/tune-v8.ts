// Works around three behaviours of V8 that slow a busy service down for the rest of its life.
import { executionAsyncResource } from 'node:async_hooks';
import { setFlagsFromString } from 'node:v8';

/** The object of one call of `process.nextTick`. */
let keptTick: object | undefined;

/**
 * Each call of `process.nextTick` creates an object with computed keys. When a major collection finds none of them, V8 frees their hidden
 * class, and after that creates each one through a call into its runtime: 1.0 instead of 0.13 µs. While one is kept, so is the class: a
 * message costs 0.89 to 0.94 × as much (docs/experiments.md). Call it before anything else.
 */
export function keepNextTickFast(): void {
  process.nextTick(() => {
    keptTick ??= executionAsyncResource();
  });
}

/**
 * Changes how V8 collects garbage. Call it after the start: once a flag has changed, V8 rejects the code cache of Node's own modules.
 *
 * - After a burst, V8 allocates objects of kinds that lived long in it directly in the old generation. Later ones are short-lived, but until
 *   the next major collection they keep everything that they reference alive, so every minor collection takes longer: 10 instead
 *   of 3 % survive (docs/experiments.md), and a message costs 3 to 9 % more.
 * - While few objects survive, V8 lets a small old generation grow by only 8 MB before it collects it again. A busy service then spends 50 of
 *   every 600 ms in major collections. Here the old generation may double: p99 of a webhook is 5 instead of 23 to 42 ms.
 */
export function tuneCollections(): void {
  setFlagsFromString('--no-allocation-site-pretenuring');
  setFlagsFromString('--heap-growing-percent=100');
}
