import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Pinning } from '../measure/pinning.ts';

/** A bridge that takes part: how it is started, and how Macs come to be allowed in. */
export interface Contestant {
  readonly name: string;
  start(place: Place): Promise<Running>;
}

/** What every contestant finds when it starts. */
export interface Place {
  readonly crmUrl: string;
  readonly publicKey: string;
  readonly pinning: Pinning;
  /** An empty folder of its own, for logs and data. */
  readonly folder: string;
  /** Where the V8 CPU profile goes at the end, when one is wanted. */
  readonly profileFolder: string | undefined;
}

export interface Running {
  readonly name: string;
  readonly pid: number;
  readonly url: string;
  /** Lets these locations in, each with a Mac of its own. */
  enrol(locations: readonly string[]): Promise<Credentials[]>;
  stop(): Promise<void>;
}

export interface Credentials {
  readonly locationId: string;
  readonly token: string;
}

export interface ServiceProcess {
  readonly pid: number;
  stop(): Promise<void>;
}

/** Starts `node …args` on the service's core with its output in a file, and waits until it listens on `port`. */
export async function startProcess(
  name: string,
  args: readonly string[],
  env: Record<string, string>,
  port: number,
  place: Place,
): Promise<ServiceProcess> {
  const logFile = join(place.folder, 'output.log');
  const output = openSync(logFile, 'a');
  const [command, given] = place.pinning.command('service', process.execPath, args);
  const child = spawn(command, given, {
    stdio: ['ignore', output, output],
    env: {
      PATH: process.env['PATH'] ?? '',
      NODE_ENV: 'production',
      NODE_OPTIONS: nodeOptions(place.profileFolder),
      ...env,
    },
  });
  closeSync(output);
  const { pid } = child;
  const ended = once(child, 'exit');
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGTERM');
    await ended;
  };
  try {
    if (pid === undefined) throw new Error('the process did not start');
    await Promise.race([
      listening(port),
      ended.then(([code]) => {
        throw new Error(`it ended with code ${code}`);
      }),
    ]);
    return { pid, stop };
  } catch (error) {
    await stop();
    throw new Error(`${name} is not up. Its last words:\n${lastWords(logFile)}`, { cause: error });
  }
}

function nodeOptions(profileFolder: string | undefined): string {
  const quiet = '--disable-warning=ExperimentalWarning';
  return profileFolder === undefined ? quiet : `${quiet} --cpu-prof --cpu-prof-dir=${profileFolder}`;
}

const lastWords = (file: string) => readFileSync(file, 'utf8').trim().split('\n').slice(-10).join('\n');

const START_MS = 120_000;

async function listening(port: number): Promise<void> {
  const deadline = Date.now() + START_MS;
  while (!(await accepts(port))) {
    if (Date.now() > deadline) throw new Error(`nothing listens on port ${port} after ${START_MS / 1000} s`);
    await sleep(50);
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}
