import { rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';

import type { SendFrame } from '@footbridge/protocol/frames';
import { asDeviceId } from '@footbridge/protocol/ids';

import { systemClock } from './clock.ts';
import type { Clock } from './clock.ts';
import type { AgentConfig } from './config/config.ts';
import { journalPath, lockDataDir, makeDataDir } from './edges/data-dir.ts';
import { createUploads } from './edges/uploads.ts';
import { openControlPort } from './edges/control-port/control-port.ts';
import { createDownloads } from './edges/downloads/downloads.ts';
import { stableDeviceId } from './edges/enrolment/device-id.ts';
import { Enrolment } from './edges/enrolment/enrolment.ts';
import type { LinkSettings, LinkState } from './edges/link/link.ts';
import { Link } from './edges/link/link.ts';
import { ScratchFolder } from './edges/scratch.ts';
import { NoEngineError } from './errors.ts';
import { noFailpoints } from './failpoint.ts';
import type { Failpoint } from './failpoint.ts';
import { Receiver } from './flows/inbound/receive-messages.ts';
import { capabilitiesOf } from './flows/outbound/capabilities.ts';
import type { Outcome } from './flows/outbound/outcome.ts';
import { performJob } from './flows/outbound/perform-job.ts';
import { stepsOf } from './flows/outbound/steps.ts';
import type { Downloads } from './flows/outbound/job-deps.ts';
import { Lifecycle } from './lifecycle.ts';
import type { Log } from './log.ts';
import { openJournal } from './ports/journal/journal-sqlite.ts';
import type { Job, Journal } from './ports/journal/journal.ts';
import { SimulatedMessages } from './ports/messages/messages-simulated.ts';
import type { Messages } from './ports/messages/messages.ts';
import { Queue } from './flows/outbound/queue.ts';
import { AGENT_VERSION } from './config/version.ts';

/** The number under which the simulated Mac writes. */
const OWN_HANDLE = '+15550100000';
const KEPT_MS = 30 * 24 * 3600_000;
const HOUSEKEEPING_MS = 3600_000;

export interface AgentParts {
  readonly log: Log;
  readonly clock?: Clock;
  readonly failpoint?: Failpoint;
  readonly downloads?: Downloads;
  readonly link?: Partial<LinkSettings>;
}

export interface Agent {
  /** How the link ended: stopped, or told to stay away. */
  readonly ended: Promise<LinkState>;
  stop(): Promise<void>;
}

/** Builds the agent from its parts and starts it. The only file that names an engine. */
export async function startAgent(config: AgentConfig, parts: AgentParts): Promise<Agent> {
  if (!config.simulate) throw new NoEngineError();
  const { log, clock = systemClock, failpoint = noFailpoints } = parts;
  const life = new Lifecycle();
  try {
    makeDataDir(config.dataDir);
    life.add(lockDataDir(config.dataDir));
    // Left behind by a process that died in the middle of a job.
    rmSync(scratchDir(config), { recursive: true, force: true });
    const journal = openJournal(journalPath(config.dataDir));
    life.add(() => journal.close());
    journal.prune(clock.now() - KEPT_MS);
    const messages = new SimulatedMessages({
      dir: join(config.dataDir, 'simulated-messages'),
      macos: config.macos,
      ownHandle: OWN_HANDLE,
      clock,
    });
    messages.change({ permissions: { automation: config.uiAutomation } });
    life.add(() => messages.close());

    const enrolment = await createEnrolment(config, log);
    const link = new Link({
      url: config.url,
      credentials: { token: () => enrolment.token(), renew: () => enrolment.activate() },
      outbox: journal.outbox,
      clock,
      log,
      failpoint,
      random: Math.random,
      registration: () => ({
        type: 'register',
        locationId: config.location,
        agent: { version: AGENT_VERSION },
        os: { name: 'macOS', version: messages.environment().macos },
        capabilities: capabilitiesOf(messages.environment()),
      }),
      onSend: (frame) => queue.accept(frame),
      onUnreadable: (request, reason) => queue.rejectInvalid(request, reason),
      onState: (state) => noteState(state, config, journal, log, clock),
      settings: linkSettings(config, parts.link),
    });

    const queue = new Queue({
      journal,
      clock,
      log,
      failpoint,
      limit: config.queueLimit,
      gapMs: config.sendGapMs,
      perform: jobPerformer(config, { journal, messages, log, clock, failpoint, downloads: parts.downloads }),
      onFrames: () => link.notify(),
    });
    const receiver = new Receiver({
      messages,
      journal,
      uploads: createUploads(config.url, () => enrolment.savedToken()),
      clock,
      log,
      failpoint,
      settings: {
        pollMs: 2_000,
        chatJoinTimeoutMs: 5_000,
        attachmentWaitMs: config.attachmentWaitMs,
        maxAgeMs: 72 * 3600_000,
        retryBaseMs: 500,
        retryCapMs: config.backoffCapMs,
      },
      onFrames: () => link.notify(),
    });

    const control = await openControlPort(
      config.controlPort,
      {
        people: messages.people,
        change: (change) => messages.change(change),
        view: () => ({ ...messages.view(), queue: queue.depth() }),
      },
      log,
    );
    life.add(() => control.close());
    log.info({ controlUrl: control.url }, 'simulator ready');

    queue.start();
    receiver.start();
    const ended = link.run();
    // The link goes last of the three: what the job under way has to say still gets out.
    life.add(async () => {
      link.stop();
      await ended;
    });
    life.add(() => queue.stop());
    life.add(() => receiver.stop());
    life.add(every(config.healthMs, log, () => logHealth(journal, link, queue, receiver, log)));
    life.add(every(config.healthMs, log, () => journal.walCheckpoint()));
    life.add(every(HOUSEKEEPING_MS, log, () => journal.prune(clock.now() - KEPT_MS)));
    return { ended, stop: () => life.close() };
  } catch (error) {
    await life.close();
    throw error;
  }
}

export async function createEnrolment(
  config: Pick<AgentConfig, 'url' | 'dataDir' | 'license' | 'deviceId' | 'macos'>,
  log: Log,
): Promise<Enrolment> {
  const { url, dataDir, license, macos } = config;
  makeDataDir(dataDir);
  const deviceId = asDeviceId(config.deviceId) ?? (await stableDeviceId(dataDir));
  return new Enrolment({
    url,
    dataDir,
    license,
    deviceId,
    name: hostname().slice(0, 64) || 'Mac',
    osVersion: macos,
    appVersion: AGENT_VERSION,
    log,
  });
}

/** What one job needs besides the job. */
function jobPerformer(
  config: AgentConfig,
  parts: {
    journal: Journal;
    messages: Messages;
    log: Log;
    clock: Clock;
    failpoint: Failpoint;
    downloads: Downloads | undefined;
  },
): (job: Job, frame: SendFrame) => Promise<Outcome> {
  const { journal, messages, log, clock, failpoint } = parts;
  const downloads = parts.downloads ?? createDownloads({ allowLoopback: config.allowLoopback });
  return async (job, frame) => {
    const scratch = new ScratchFolder(scratchDir(config));
    const steps = stepsOf(job.key, {
      jobs: journal.jobs,
      store: messages.store,
      clock,
      log,
      failpoint,
      timeoutMs: config.sendLimitMs,
    });
    const settings = { confirmMs: config.confirmMs, smsFallback: config.smsFallback };
    try {
      return await performJob(frame, { messages, steps, downloads, scratch, clock, settings });
    } finally {
      await scratch.clear();
    }
  };
}

function scratchDir(config: AgentConfig): string {
  return join(config.dataDir, 'scratch');
}

function linkSettings(config: AgentConfig, over: Partial<LinkSettings> = {}): LinkSettings {
  return {
    heartbeatMs: config.heartbeatMs,
    connectTimeoutMs: 10_000,
    backoffBaseMs: 500,
    backoffCapMs: config.backoffCapMs,
    protocolWaitMs: config.protocolWaitMs,
    wakeCheckMs: 5_000,
    wakeToleranceMs: 10_000,
    ...over,
  };
}

/** For the log now, and for `status` later. */
function noteState(state: LinkState, config: AgentConfig, journal: Journal, log: Log, clock: Clock): void {
  try {
    journal.setNote('link', JSON.stringify({ ...state, at: new Date(clock.now()).toISOString() }));
  } catch (error) {
    // Only `status` reads it; a full disk is no reason to lose the connection.
    log.error({ err: error }, 'the state of the link could not be noted');
  }
  if (state.state === 'registered') {
    log.info({ locationId: config.location, sessionId: state.sessionId }, 'registered');
  } else if (state.state === 'waiting') {
    log.info({ because: state.because, waitMs: state.ms }, 'not connected');
  } else if (state.state === 'away') {
    log.error({ code: state.code }, `staying away: ${state.because}`);
  }
}

function logHealth(journal: Journal, link: Link, queue: Queue, receiver: Receiver, log: Log): void {
  log.info(
    {
      link: stateName(journal.note('link')),
      queue: queue.depth(),
      ...journal.outbox.counts(),
      inboundWaiting: receiver.pendingCount(),
      framesIgnored: link.framesIgnored,
      rssMb: Math.round(process.memoryUsage.rss() / 1024 / 1024),
    },
    'health',
  );
}

function stateName(noted: string | undefined): unknown {
  const state: unknown = noted === undefined ? undefined : JSON.parse(noted);
  return typeof state === 'object' && state !== null && 'state' in state ? state.state : 'starting';
}

/** Work that can wait for the next time when it fails, as it does on a full disk. */
function every(ms: number, log: Log, work: () => void): () => void {
  const timer = setInterval(() => {
    try {
      work();
    } catch (error) {
      log.error({ err: error }, 'the journal could not be kept in order; it is tried again');
    }
  }, ms);
  timer.unref();
  return () => clearInterval(timer);
}
