/** How many times as long the longer input is. */
const LONGER = 8;

/**
 * Returns what synchronous work costs for `make(size)`: the memory that it allocates, and how many times as long it takes
 * as for `make(size / 8)`. Load on the machine only ever makes a run slower, so the fastest of several alternating runs
 * counts. A collection of garbage only ever hides allocated memory, so the largest amount counts.
 */
export function costGrowth<T>(work: (input: T) => unknown, make: (size: number) => T, size: number) {
  const [short, long] = [make(Math.floor(size / LONGER)), make(size)];
  let [shortest, longest, bytes] = [Infinity, Infinity, 0];
  for (let run = 0; run < 30; run++) {
    shortest = Math.min(shortest, timeOf(work, short));
    const before = allocated();
    longest = Math.min(longest, timeOf(work, long));
    bytes = Math.max(bytes, allocated() - before);
    if (run > 2 && longest < 2 * LONGER * shortest) break;
  }
  return { time: longest / shortest, bytes };
}

function allocated(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function timeOf<T>(work: (input: T) => unknown, input: T): number {
  const start = performance.now();
  work(input);
  return performance.now() - start;
}
