import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import process from 'node:process';

/**
 * Returns the CPU time of a process in microseconds, including its threads and children, read from outside. The Linux
 * scheduler counts nanoseconds; on other systems, `ps` reports hundredths of a second.
 */
export function cpuMicros(pid: number): number {
  if (process.platform !== 'linux')
    return psColumn('time', pid).reduce((sum, time) => sum + clockMicros(time), 0);
  let nanoseconds = 0;
  for (const member of tree(pid)) {
    for (const thread of entries(`/proc/${member}/task`)) {
      nanoseconds += Number(read(`/proc/${member}/task/${thread}/schedstat`).split(' ')[0]);
    }
  }
  return nanoseconds / 1000;
}

/** Returns the resident bytes of a process and its children. */
export function residentBytes(pid: number): number {
  if (process.platform !== 'linux')
    return psColumn('rss', pid).reduce((sum, size) => sum + Number(size) * 1024, 0);
  return tree(pid).reduce((sum, member) => {
    const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(read(`/proc/${member}/status`))?.[1] ?? 0;
    return sum + Number(kilobytes) * 1024;
  }, 0);
}

/** Returns the ids of a process and all its descendants. */
export function tree(pid: number): number[] {
  const children = entries(`/proc/${pid}/task`).flatMap((thread) =>
    read(`/proc/${pid}/task/${thread}/children`).trim().split(' ').filter(Boolean).map(Number),
  );
  return [pid, ...children.flatMap(tree)];
}

// A process or thread may exit between being listed and being read; it is ignored then.
function entries(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function psColumn(column: 'time' | 'rss', pid: number): string[] {
  const rows = execFileSync('ps', ['-A', '-o', `pid=,ppid=,${column}=`], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((row) => row.trim().split(/\s+/));
  const members = new Set([String(pid)]);
  for (let before = 0; before !== members.size;) {
    before = members.size;
    for (const [child = '', parent = ''] of rows) if (members.has(parent)) members.add(child);
  }
  return rows.filter(([member = '']) => members.has(member)).map(([, , value = '0']) => value);
}

/** Parses times such as `1:02:03.45` and `2:03.45`. */
function clockMicros(time: string): number {
  return time.split(':').reduce((sum, part) => sum * 60 + Number(part), 0) * 1e6;
}
