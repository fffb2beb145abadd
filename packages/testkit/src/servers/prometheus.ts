import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { Child } from '../child.ts';
import { freePort } from '../ports.ts';
import { available } from './availability.ts';
import { unpackProgram } from './debian-program.ts';
import type { Program } from './debian-program.ts';
import { findOnce } from './findings.ts';
import type { Finder } from './findings.ts';
import { findOnPath } from './on-path.ts';
import { firstThatWorks } from './sources.ts';
import type { Source } from './sources.ts';

export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Prometheus {
  readonly url: string;
  /** Evaluates an expression now. Rejects with the error of Prometheus when the expression is invalid. */
  query(expression: string): Promise<Sample[]>;
  stop(): Promise<void>;
}

/** `describe.skipIf(!(await hasPrometheus()))` */
export function hasPrometheus(): Promise<boolean> {
  return available(PROMETHEUS);
}

/** Starts a Prometheus that scrapes these targets every `intervalMs` and evaluates the rules in these files. */
export async function startPrometheus(
  targets: readonly string[],
  intervalMs: number,
  rules: readonly string[] = [],
): Promise<Prometheus> {
  const { path, env } = await findOnce(PROMETHEUS);
  const dir = await mkdtemp(join(tmpdir(), 'footbridge-prometheus-'));
  const address = `127.0.0.1:${await freePort()}`;
  const config = {
    global: { scrape_interval: `${intervalMs}ms`, evaluation_interval: `${intervalMs}ms` },
    rule_files: rules,
    scrape_configs: [{ job_name: 'footbridge', static_configs: [{ targets }] }],
  };
  // JSON is YAML.
  await writeFile(join(dir, 'prometheus.yml'), JSON.stringify(config));
  const args = [
    `--config.file=${join(dir, 'prometheus.yml')}`,
    `--storage.tsdb.path=${join(dir, 'data')}`,
    `--web.listen-address=${address}`,
  ];
  const server = new Child(path, args, { env, cwd: dir });
  const stop = async () => {
    await server.end('SIGTERM');
    await rm(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  };
  try {
    await server.line(
      (line) => line.includes('Server is ready to receive web requests') || undefined,
      60_000,
      'prometheus is up',
    );
  } catch (error) {
    await stop();
    throw error;
  }
  const url = `http://${address}`;
  return { url, stop, query: (expression) => query(url, expression) };
}

async function query(url: string, expression: string): Promise<Sample[]> {
  const body = new URLSearchParams({ query: expression });
  const response = await fetch(`${url}/api/v1/query`, { method: 'POST', body });
  const { data, error } = (await response.json()) as {
    data?: { result: { metric: Record<string, string>; value: [number, string] }[] };
    error?: string;
  };
  if (data === undefined) throw new Error(`${expression}: ${error}`);
  return data.result.map(({ metric, value: [, value] }) => ({ metric, value: Number(value) }));
}

/** Runs promtool, which comes with Prometheus. Resolves with its exit code and output. */
export async function promtool(
  args: readonly string[],
  cwd: string,
): Promise<{ code: number | null; output: string }> {
  const { path, env } = await findOnce(PROMETHEUS);
  const tool = new Child(join(dirname(path), 'promtool'), args, { env, cwd });
  const { code } = await tool.exited;
  return { code, output: tool.lines.join('\n') };
}

const SOURCES: readonly Source<Program>[] = [
  { name: 'the PATH', find: onPath },
  {
    name: 'Debian packages',
    find: () => unpackProgram({ packages: ['prometheus'], path: 'usr/bin/prometheus' }),
  },
];

export const PROMETHEUS: Finder<Program> = {
  name: 'prometheus',
  find: () => firstThatWorks('prometheus', SOURCES, check),
};

async function onPath(): Promise<Program | undefined> {
  const path = await findOnPath('prometheus');
  return path === undefined ? undefined : { path, env: {} };
}

async function check({ path, env }: Program): Promise<void> {
  for (const program of [path, join(dirname(path), 'promtool')]) {
    const { code } = await new Child(program, ['--version'], { env }).exited;
    if (code !== 0) throw new Error(`${program} --version exits with ${code}`);
  }
}
