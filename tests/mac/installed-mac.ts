import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Cleanup } from '@footbridge/testkit/cleanup';
import { startSimulatedMacos } from '@footbridge/testkit/macos';
import type { SimulatedMacos } from '@footbridge/testkit/macos';
import { findOnce } from '@footbridge/testkit/servers/findings';

import { TestBridge } from '../contract/test-bridge.ts';
import { PACKED_AGENT } from './packed-agent.ts';
import { TerminalSession } from './terminal-session.ts';

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

const LOCATION = 'loc1';

/** A simulated Mac with the packed agent, and the service with a license for it. */
export interface InstalledMac {
  readonly bridge: TestBridge;
  readonly macos: SimulatedMacos;
  /** The folder of the packed agent. */
  readonly program: string;
  /** The folder of the installed agent. */
  readonly support: string;
  /** Returns a new pairing code. */
  newCode(): Promise<string>;
  /** Makes a program of the simulated macOS fail from now on. */
  breakProgram(name: string): Promise<void>;
  inTerminal(env: Readonly<Record<string, string>>, ...args: string[]): TerminalSession;
  /** Runs a command of the packed agent in `root`. */
  command(root: string, env: Readonly<Record<string, string>>, ...args: string[]): Promise<Ended>;
}

export async function startInstalledMac(
  cleanup: Cleanup,
  { fullDisk }: { readonly fullDisk: boolean },
): Promise<InstalledMac> {
  const program = await findOnce(PACKED_AGENT);
  const bridge = await TestBridge.start({ oauth: 'off', env: { MAC_HEARTBEAT_SEC: '15' } });
  cleanup.add(() => bridge.stop());
  const { id: licenseId } = await bridge.createLicense(1);
  await bridge.operator('PUT', `/operator/locations/${LOCATION}`, { licenseId });
  const macos = await startSimulatedMacos();
  cleanup.add(async () => {
    const lastLines = macos.isRunning ? [] : macos.logs.slice(-20).map(({ msg }) => msg);
    await macos.stop();
    if (lastLines.length > 0) throw new Error(`the simulated macOS ended:\n${lastLines.join('\n')}`);
  });
  for (const name of ['Application Support', 'Caches', 'LaunchAgents', 'Logs'])
    await mkdir(join(macos.home, 'Library', name));
  await mkdir(join(macos.home, 'Pictures'));
  await mkdir(join(macos.home, 'Library/Containers/com.apple.MobileSMS/Data/tmp'), { recursive: true });
  await macos.messages.configurePrivacy({ fullDisk, automation: 'undetermined', accessibility: false });

  const support = join(macos.home, 'Library/Application Support/Footbridge');
  const environment = (more: Readonly<Record<string, string>>) => ({
    PATH: process.env['PATH'] ?? '',
    HOME: macos.home,
    FOOTBRIDGE_PROGRAMS: join(macos.home, 'bin'),
    FOOTBRIDGE_AGENT_DIR: support,
    ...more,
  });
  return {
    bridge,
    macos,
    program,
    support,
    async newCode() {
      const path = `/operator/locations/${LOCATION}/pairing-codes`;
      return String((await bridge.operator('POST', path)).body['code']);
    },
    breakProgram: (name) => writeFile(join(macos.home, 'bin', name), '#!/bin/sh\nexit 1\n'),
    inTerminal(env, ...args) {
      const session = new TerminalSession(process.execPath, [bin(program), ...args], environment(env));
      cleanup.add(() => session.end());
      return session;
    },
    command: (root, env, ...args) =>
      new Promise((resolve) => {
        execFile(process.execPath, [bin(root), ...args], { env: environment(env) }, (error, out, err) =>
          resolve({ code: error === null ? 0 : Number(error.code), out, err }),
        );
      }),
  };
}

const bin = (root: string) => join(root, 'agent/bin/footbridge-agent.mjs');
