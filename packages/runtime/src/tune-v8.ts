import { executionAsyncResource } from 'node:async_hooks';
import { setFlagsFromString } from 'node:v8';

/** Corrects two decisions of V8 that slow a busy service down for the rest of its life. Call it before anything else. */
export function tuneV8(): void {
  keepNextTickFast();
  // After a burst, V8 allocates objects that lived long in it directly in the old generation. Later ones end soon, but until the next major
  // collection they keep alive all that they reference, and every collection of young objects takes longer (`bench/collections.ts`).
  setFlagsFromString('--no-allocation-site-pretenuring');
}

/** The object of one call of `process.nextTick`. */
let kept: object | undefined;

/**
 * Each call of `process.nextTick` creates an object with computed keys. When a major collection finds none of them, V8 frees their hidden
 * class, and after that creates every such object in its runtime, which takes eight times as long. While one is kept, so is the class.
 */
function keepNextTickFast(): void {
  process.nextTick(() => {
    kept ??= executionAsyncResource();
  });
}
