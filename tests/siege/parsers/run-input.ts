import { getHeapStatistics } from 'node:v8';

import { seeded } from '@footbridge/testkit/seeded';

import { Make } from './make.ts';
import type { Parser } from './parsers.ts';

export interface Cost {
  readonly size: number;
  readonly milliseconds: number;
  readonly bytes: number;
  /** Why the input is a finding. */
  readonly fault: string | undefined;
}

/** Code that is compiled and a table that is filled cost once, and a busy machine makes a run slower. */
const ATTEMPTS = 12;

/** Runs one input. The same seed, parser and number give the same input, whatever ran before. */
export async function runInput(parser: Parser, seed: number, number: number): Promise<Cost> {
  const make = new Make(seeded(mixed(seed, parser.name, number)), parser.maxSize);
  const { size, run } = parser.prepare(make);
  const maxMs = parser.milliseconds.fixed + parser.milliseconds.perByte * size;
  const maxBytes = parser.bytes.fixed + parser.bytes.perByte * size;
  let [milliseconds, bytes, cpuMs] = [Infinity, Infinity, 0];
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    if (attempt > 1) globalThis.gc?.();
    const cost = await measured(run);
    if (cost.thrown !== undefined && !mayThrow(parser, cost.thrown)) {
      const name = cost.thrown instanceof Error ? cost.thrown.name : 'no error';
      return { size, milliseconds, bytes, fault: `throws ${name}` };
    }
    // The clock also counts while other programs run. The CPU time is exact only for many attempts: it has ticks.
    cpuMs += cost.cpuMs;
    milliseconds = Math.min(milliseconds, cost.milliseconds);
    if (attempt === ATTEMPTS) milliseconds = Math.min(milliseconds, cpuMs / ATTEMPTS);
    bytes = Math.min(bytes, cost.bytes);
    if (milliseconds <= maxMs && bytes <= maxBytes) return { size, milliseconds, bytes, fault: undefined };
  }
  const fault =
    milliseconds > maxMs ? `${Math.round(milliseconds)} ms` : `${(bytes / 2 ** 20).toFixed(1)} MiB`;
  return { size, milliseconds, bytes, fault: `takes ${fault} for ${size} bytes` };
}

/** The converter takes any error for a damaged file. */
function mayThrow(parser: Parser, thrown: unknown): boolean {
  return parser.process === 'converter' && thrown instanceof Error;
}

async function measured(run: () => unknown) {
  const [before, start, cpu] = [allocated(), performance.now(), process.threadCpuUsage()];
  let thrown: unknown;
  try {
    const result = run();
    if (result instanceof Promise) await result;
  } catch (error) {
    thrown = error ?? new Error('nothing');
  }
  const milliseconds = performance.now() - start;
  const { user, system } = process.threadCpuUsage(cpu);
  return { milliseconds, cpuMs: (user + system) / 1000, bytes: allocated() - before, thrown };
}

function allocated(): number {
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
  return heap + external;
}

/** FNV-1a over the three. */
function mixed(...parts: readonly (string | number)[]): number {
  let hash = 0x811c_9dc5;
  for (const character of parts.join(' '))
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x0100_0193);
  return hash >>> 0;
}
