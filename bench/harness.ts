import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Candidate, CandidateProcess } from './candidates.ts';
import { startEnvironment } from './environment/environment.ts';
import type { BenchEnvironment } from './environment/environment.ts';
import { locationNames } from './environment/messages.ts';
import { findPinning } from './measure/pinning.ts';
import type { Pinning } from './measure/pinning.ts';

/** A running candidate with its Macs connected. */
export interface RunningCandidate extends CandidateProcess {
  readonly locations: readonly string[];
}

export interface Harness {
  readonly environment: BenchEnvironment;
  /** Starts a candidate and connects `macs` Macs to it. */
  start(candidate: Candidate, macs: number): Promise<RunningCandidate>;
  /** Disconnects the Macs of a candidate and stops it. */
  stop(candidate: RunningCandidate): Promise<void>;
}

interface HarnessOptions {
  readonly pinning?: Pinning;
  /** Whether the CRM speaks TLS, as the real one does. Default true. */
  readonly crmTls?: boolean;
  readonly profileFolder?: string | undefined;
}

/** Runs `task` with an environment. Afterwards, stops it and all candidates that are still running. */
export async function withHarness<T>(
  { pinning = findPinning(), crmTls = true, profileFolder }: HarnessOptions,
  task: (harness: Harness) => Promise<T>,
): Promise<T> {
  if (pinning.note !== undefined) console.log(`note: ${pinning.note}`);
  const root = await mkdtemp(join(tmpdir(), 'footbridge-bench-'));
  const environment = await startEnvironment(pinning, root, crmTls);
  const started: CandidateProcess[] = [];
  try {
    return await task({
      environment,
      async start(candidate, macs) {
        const folder = join(root, String(started.length + 1));
        await mkdir(folder);
        const running = await candidate.start({ environment, pinning, folder, profileFolder });
        started.push(running);
        const locations = locationNames(macs);
        if (macs > 0)
          await environment.macs.call('connect', running.name, running.url, await running.enrol(locations));
        return { ...running, locations };
      },
      async stop(candidate) {
        await environment.macs.call('disconnect', candidate.name);
        await candidate.stop();
      },
    });
  } finally {
    await environment.stop();
    await Promise.all(started.map((running) => running.stop()));
    await rm(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  }
}
