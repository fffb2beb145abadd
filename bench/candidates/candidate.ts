import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Pinning } from '../measure/pinning.ts';

/** A bridge implementation to measure. */
export interface Candidate {
  readonly name: string;
  start(options: StartOptions): Promise<CandidateProcess>;
}

export interface StartOptions {
  readonly crmUrl: string;
  /** The CA certificate file that the candidate trusts. Undefined: the CRM uses plain HTTP. */
  readonly crmCertificate: string | undefined;
  readonly publicKey: string;
  readonly pinning: Pinning;
  /** An empty folder for logs and data. */
  readonly folder: string;
  /** The folder for the V8 CPU profile, if one is requested. */
  readonly profileFolder: string | undefined;
}

export interface CandidateProcess {
  readonly name: string;
  readonly pid: number;
  readonly url: string;
  /** Enrols one Mac for each location. */
  enrol(locations: readonly string[]): Promise<Credentials[]>;
  stop(): Promise<void>;
}

export interface Credentials {
  readonly locationId: string;
  readonly token: string;
  /** Whether its Macs confirm every `send`, as the agent does it. Default true. */
  readonly confirms?: boolean;
}

export interface ServiceProcess {
  readonly pid: number;
  stop(): Promise<void>;
}

/** Starts `node …args` on the core of the service, with its output in a file. Resolves when it listens on `port`. */
export async function startProcess(
  name: string,
  args: readonly string[],
  env: Record<string, string>,
  port: number,
  { folder, pinning, profileFolder, crmCertificate }: StartOptions,
): Promise<ServiceProcess> {
  const logFile = join(folder, 'output.log');
  const output = openSync(logFile, 'a');
  const [command, pinnedArgs] = pinning.command('service', process.execPath, args);
  const child = spawn(command, pinnedArgs, {
    stdio: ['ignore', output, output],
    env: {
      PATH: process.env['PATH'] ?? '',
      NODE_ENV: 'production',
      NODE_OPTIONS: nodeOptions(profileFolder),
      ...(crmCertificate !== undefined && { NODE_EXTRA_CA_CERTS: crmCertificate }),
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
        throw new Error(`it exited with code ${code}`);
      }),
    ]);
    return { pid, stop };
  } catch (error) {
    await stop();
    throw new Error(`${name} did not start. Its last output:\n${lastLines(logFile)}`, { cause: error });
  }
}

function nodeOptions(profileFolder: string | undefined): string {
  const quiet = '--disable-warning=ExperimentalWarning';
  return profileFolder === undefined ? quiet : `${quiet} --cpu-prof --cpu-prof-dir=${profileFolder}`;
}

const lastLines = (file: string) => readFileSync(file, 'utf8').trim().split('\n').slice(-10).join('\n');

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
