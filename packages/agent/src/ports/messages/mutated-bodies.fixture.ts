import { readdirSync, readFileSync } from 'node:fs';

const FOLDER = new URL('../../../fixtures/bodies/', import.meta.url);

/** Yields real bodies with a few bytes changed, cut off, removed or repeated. The same seed yields the same bodies. */
export function* mutatedBodies(seed: number): Generator<Buffer, never> {
  const examples = readdirSync(FOLDER).map((name) => readFileSync(new URL(name, FOLDER)));
  const random = seededRandom(seed);
  for (;;) {
    const blob = Buffer.from(examples[random(examples.length)] ?? Buffer.alloc(0));
    for (let count = 1 + random(8); count > 0; count -= 1) blob[random(blob.byteLength)] = random(256);
    const [from, to] = [random(blob.byteLength), random(blob.byteLength)];
    const how = random(4);
    if (how === 0) yield blob.subarray(0, from);
    else if (how === 1) yield Buffer.concat([blob.subarray(0, from), blob.subarray(to)]);
    else yield blob;
  }
}

/** Returns a function that returns a random whole number from 0 to below its argument. */
export function seededRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
