import { executionAsyncResource } from 'node:async_hooks';

/** The object of one call of `process.nextTick`. */
let kept: object | undefined;

/**
 * Keeps `process.nextTick` fast for the life of the process. Each call creates an object with computed keys. When a major garbage collection
 * finds none of them, V8 frees their hidden class, and after that creates every such object in its runtime, which takes eight times as long.
 * While one of them is kept, so is their hidden class. Call it before the process is idle for the first time.
 */
export function keepNextTickFast(): void {
  process.nextTick(() => {
    kept ??= executionAsyncResource();
  });
}
