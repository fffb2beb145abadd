import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** An interval on the shared clock, in milliseconds. */
export type Interval = readonly [from: number, to: number];

interface CpuProfile {
  readonly startTime: number;
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

export interface ProfileSummary {
  /** The share of the busy time by package or component, largest first. */
  readonly groups: readonly (readonly [name: string, share: number])[];
  readonly functions: readonly (readonly [name: string, share: number])[];
}

/** Summarises the V8 profile of the busiest of these processes, or returns undefined if none was busy in the intervals. */
export function summariseProfile(
  folder: string,
  pids: readonly number[],
  intervals: readonly Interval[],
): ProfileSummary | undefined {
  const all = readdirSync(folder)
    .filter((name) => pids.some((pid) => name.includes(`.${pid}.0.`)))
    .map((name) => busyTimes(JSON.parse(readFileSync(join(folder, name), 'utf8')) as CpuProfile, intervals))
    .sort((left, right) => total(right.functions) - total(left.functions));
  const [busiest] = all;
  if (busiest === undefined || total(busiest.functions) === 0) return undefined;
  return { groups: shares(busiest.groups), functions: shares(busiest.functions) };
}

function busyTimes(profile: CpuProfile, intervals: readonly Interval[]) {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node.callFrame]));
  const groups = new Map<string, number>();
  const functions = new Map<string, number>();
  let at = profile.startTime;
  for (const [index, id] of profile.samples.entries()) {
    const delta = profile.timeDeltas[index] ?? 0;
    at += delta;
    const frame = nodes.get(id);
    const ms = at / 1000;
    if (frame === undefined || frame.functionName === '(idle)') continue;
    if (!intervals.some(([from, to]) => ms >= from && ms <= to)) continue;
    add(groups, groupOf(frame.url, frame.functionName), delta);
    const place = frame.url === '' ? 'native' : `${short(frame.url)}:${frame.lineNumber + 1}`;
    add(functions, `${frame.functionName || '(anonymous)'} ${place}`, delta);
  }
  return { groups, functions };
}

function groupOf(url: string, functionName: string): string {
  const name = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1];
  if (name !== undefined) return name;
  const ours = /packages\/(service|protocol)\/src\/((?:[^/]+\/){0,2})/.exec(url);
  if (ours !== null) return `${ours[1]}/${ours[2]}`.replace(/\/$/, '');
  if (url.includes('/bench/')) return 'own code';
  if (url.startsWith('wasm:')) return 'undici';
  if (/^node:(internal\/crypto|crypto)/.test(url)) return 'node:crypto';
  if (url.startsWith('node:_http')) return 'node:http';
  if (/^node:(net|stream|internal\/(streams|stream_base))/.test(url)) return 'net and streams';
  if (/^(writev|write\w+String|writeBuffer|shutdown|close|readStart)$/.test(functionName))
    return 'socket writes';
  if (functionName === '(garbage collector)') return 'garbage collector';
  if (functionName === '(program)') return 'V8 and libuv';
  return 'rest of Node';
}

const short = (url: string) =>
  url.replace(/^.*\/node_modules\//, '').replace(/^.*\/(packages|bench)\//, '$1/');
const add = (map: Map<string, number>, key: string, value: number) =>
  map.set(key, (map.get(key) ?? 0) + value);
const total = (map: Map<string, number>) => map.values().reduce((sum, value) => sum + value, 0);

function shares(map: Map<string, number>): [string, number][] {
  const whole = total(map);
  return [...map]
    .map(([name, time]): [string, number] => [name, time / whole])
    .sort((left, right) => right[1] - left[1]);
}
