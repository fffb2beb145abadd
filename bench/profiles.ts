import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { tree } from './measure/process-costs.ts';
import type { Interval, Watch } from './scenarios/costs.ts';

interface CpuProfile {
  readonly startTime: number;
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

type Times = Map<string, number>;

/** Records the intervals in which each candidate was measured, and summarises the V8 profiles for these intervals. */
export class Profiles {
  readonly folder: string;
  readonly #intervals = new Map<string, { pids: number[]; intervals: Interval[] }>();

  constructor(folder: string) {
    this.folder = folder;
    mkdirSync(folder, { recursive: true });
  }

  watch(path: string): Watch {
    return (candidate, interval) => {
      const key = `${path}: ${candidate.name}`;
      const entry = this.#intervals.get(key) ?? { pids: tree(candidate.pid), intervals: [] };
      entry.intervals.push(interval);
      this.#intervals.set(key, entry);
    };
  }

  /** Must be called after the candidates have exited. */
  report(): string {
    const files = readdirSync(this.folder);
    const parts = [...this.#intervals].map(([key, { pids, intervals }]) => {
      const all = files
        .filter((name) => pids.some((pid) => name.includes(`.${pid}.0.`)))
        .map((name) => JSON.parse(readFileSync(join(this.folder, name), 'utf8')) as CpuProfile)
        .map((profile) => busyTimes(profile, intervals));
      // A candidate has several processes, one of which does the work.
      const [busiest] = all.toSorted((one, other) => total(other.groups) - total(one.groups));
      if (busiest === undefined) return `CPU profile, ${key}: none`;
      const { groups, functions } = busiest;
      return [`CPU profile, ${key}`, ...lines(groups, 24), '  functions', ...lines(functions, 40)].join('\n');
    });
    const text = parts.join('\n\n');
    writeFileSync(join(this.folder, 'summary.txt'), `${text}\n`);
    return text;
  }
}

/** Adds up the time in the intervals by package or component, and by function. */
function busyTimes(profile: CpuProfile, intervals: readonly Interval[]): { groups: Times; functions: Times } {
  const frames = new Map(profile.nodes.map((node) => [node.id, node.callFrame]));
  const groups: Times = new Map();
  const functions: Times = new Map();
  let at = profile.startTime;
  for (const [index, id] of profile.samples.entries()) {
    const delta = profile.timeDeltas[index] ?? 0;
    at += delta;
    const frame = frames.get(id);
    const ms = at / 1000;
    if (frame === undefined || frame.functionName === '(idle)') continue;
    if (!intervals.some(([from, to]) => ms >= from && ms <= to)) continue;
    const { url, functionName, lineNumber } = frame;
    const file = url.replace(/^.*\/node_modules\//, '').replace(/^.*\/(packages|bench)\//, '$1/');
    const place = url === '' ? 'native' : `${file}:${lineNumber + 1}`;
    add(groups, groupOf(url, functionName), delta);
    add(functions, `${functionName || '(anonymous)'} ${place}`, delta);
  }
  return { groups, functions };
}

function groupOf(url: string, functionName: string): string {
  const library = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1];
  if (library !== undefined) return library;
  const ours = /packages\/((?:service|protocol)\/)src\/((?:[^/]+\/){0,2})/.exec(url);
  if (ours !== null) return `${ours[1]}${ours[2]}`.replace(/\/$/, '');
  if (url.includes('/bench/')) return 'own code';
  if (url.startsWith('wasm:')) return 'undici';
  if (/^node:(internal\/crypto|crypto)/.test(url)) return 'node:crypto';
  if (url.startsWith('node:_http')) return 'node:http';
  if (/^node:(net|stream|internal\/(streams|stream_base))/.test(url)) return 'net and streams';
  if (/^(writev|write\w+String|writeBuffer|shutdown|close|readStart)$/.test(functionName))
    return 'socket writes';
  if (functionName === '(garbage collector)') return 'garbage collector';
  return functionName === '(program)' ? 'V8 and libuv' : 'rest of Node';
}

const add = (times: Times, key: string, value: number) => times.set(key, (times.get(key) ?? 0) + value);
const total = (times: Times) => times.values().reduce((sum, value) => sum + value, 0);

const lines = (times: Times, max: number): string[] =>
  [...times]
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, max)
    .map(([name, time]) => `  ${((100 * time) / total(times)).toFixed(1).padStart(5)} %  ${name}`);
