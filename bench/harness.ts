import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Candidate, CandidateProcess } from './candidates/candidate.ts';
import type { Pinning } from './measure/pinning.ts';
import { createCertificate } from './environment/certificate.ts';
import { locationNames, startEnvironment } from './environment/environment.ts';
import type { BenchEnvironment } from './environment/environment.ts';

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
  /** Stops the environment and all candidates that are still running. */
  close(): Promise<void>;
}

export async function openHarness(options: {
  pinning: Pinning;
  /** Whether the CRM speaks TLS, as the real one does. Default true. */
  crmTls?: boolean;
  profileFolder?: string | undefined;
}): Promise<Harness> {
  const { pinning, crmTls = true, profileFolder } = options;
  const root = await mkdtemp(join(tmpdir(), 'footbridge-bench-'));
  const certificate = crmTls ? await createCertificate(root) : undefined;
  const environment = await startEnvironment(pinning, certificate);
  const started: CandidateProcess[] = [];

  const connectMacs = async (running: CandidateProcess, locations: readonly string[]): Promise<void> => {
    if (locations.length === 0) return;
    const credentials = await running.enrol(locations);
    const url = `${running.url.replace('http', 'ws')}/mac/socket`;
    await environment.macs.call('connect', running.name, url, credentials);
  };

  return {
    environment,
    async start(candidate, macs) {
      const folder = join(root, String(started.length + 1));
      await mkdir(folder);
      const running = await candidate.start({
        crmUrl: environment.crmUrl,
        crmCertificate: certificate?.file,
        publicKey: environment.key.publicKey,
        pinning,
        folder,
        profileFolder,
      });
      started.push(running);
      const locations = locationNames(macs);
      await connectMacs(running, locations);
      return { ...running, locations };
    },
    async stop(candidate) {
      await environment.macs.call('disconnect', candidate.name);
      await candidate.stop();
    },
    async close() {
      await environment.stop();
      await Promise.all(started.map((running) => running.stop()));
      await rm(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
    },
  };
}
