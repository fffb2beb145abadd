import { rmSync } from 'node:fs';
import { join } from 'node:path';

import type { SendFrame } from '@footbridge/protocol/frames';
import { createSystemClock } from '@footbridge/runtime/clock';
import type { Clock } from '@footbridge/runtime/clock';
import { ClockGuard } from '@footbridge/runtime/clock-guard';
import { noFailpoints } from '@footbridge/runtime/failpoints';
import type { BlockingFailpoint } from '@footbridge/runtime/failpoints';
import { Lifecycle } from '@footbridge/runtime/lifecycle';
import type { Log } from '@footbridge/runtime/log';
import { WorkMark } from '@footbridge/runtime/work-mark';

import type { AgentConfig } from './config/config.ts';
import { systemPrograms } from './config/system-programs.ts';
import { AGENT_VERSION } from './config/version.ts';
import { openControlPort } from './edges/control-port/control-port.ts';
import { lockDataDir, makeDataDir, workMarkPath } from './edges/data-dir.ts';
import { createDownloads } from './edges/downloads/downloads.ts';
import { localHandlers } from './edges/local-socket/local-handlers.ts';
import { openLocalSocket } from './edges/local-socket/local-server.ts';
import { isScreenLocked } from './edges/screen-lock.ts';
import { ScratchFolder } from './edges/scratch.ts';
import { askServiceTime } from './edges/service-time.ts';
import { openStickerImages } from './edges/sticker-images.ts';
import { createUploads } from './edges/uploads.ts';
import { WebSocketSession } from './edges/websocket-session.ts';
import type { SessionSettings } from './edges/websocket-session.ts';
import { LocationFixedError } from './errors.ts';
import { Canary } from './flows/canary/canary.ts';
import { Receiver } from './flows/inbound/receive-messages.ts';
import type { ReceiverSettings } from './flows/inbound/receiver-deps.ts';
import { forgetClockDoubt, recordClockVerdict } from './flows/link/clock-doubt.ts';
import { readLinkState, recordLinkState } from './flows/link/link-state.ts';
import type { LinkState } from './flows/link/link-state.ts';
import { Link } from './flows/link/link.ts';
import type { LinkSettings } from './flows/link/link.ts';
import { readMacState } from './flows/link/mac-state.ts';
import { StateReporter } from './flows/link/report-state.ts';
import { claimLocation } from './flows/link/served-location.ts';
import type { Downloads, Images } from './flows/outbound/job-deps.ts';
import { OneAtATime } from './flows/outbound/one-at-a-time.ts';
import { Pacing } from './flows/outbound/pacing.ts';
import type { PacingLimits } from './flows/outbound/pacing.ts';
import { performJob } from './flows/outbound/perform-job.ts';
import { Queue } from './flows/outbound/queue.ts';
import { stepsOf } from './flows/outbound/steps.ts';
import { readReach } from './flows/reach/read-reach.ts';
import { newestEntry } from './flows/upkeep/prune-journal.ts';
import { startUpkeep } from './flows/upkeep/start-upkeep.ts';
import { openEnrolment } from './open/enrolment.ts';
import { openAgentJournal } from './open/journal.ts';
import { openMessages, simulateMessages } from './open/messages.ts';
import type { BlueBubblesLimits, Mac } from './open/messages.ts';
import type { Job, Journal } from './journal/journal.ts';
import { noteMemory } from './journal/note-memory.ts';
import type { Messages } from './ports/messages/messages.ts';
import { outboundName, Suspects } from './suspects/suspects.ts';
import type { Held } from './flows/outbound/held-jobs.ts';
import type { JobOutcome } from './outcome.ts';

const NO_GAP = { minMs: 0, maxMs: 0 };
const DEFAULT_GAP = { minMs: 1_000, maxMs: 3_000 };

export interface AgentDeps {
  readonly log: Log;
  readonly clock?: Clock;
  readonly failpoint?: BlockingFailpoint;
  readonly downloads?: Downloads;
  /** Default: the Mac that this process runs on. */
  readonly mac?: Mac;
  readonly link?: Partial<LinkSettings & SessionSettings>;
  readonly bluebubbles?: Partial<BlueBubblesLimits>;
}

export interface Agent {
  /** Resolves when the link ends: after `stop`, or when the agent must not reconnect. */
  readonly ended: Promise<LinkState>;
  stop(): Promise<void>;
}

/** Builds and starts the agent. Rejects with a ConfigurationError when it cannot start as configured. */
export async function startAgent(config: AgentConfig, deps: AgentDeps): Promise<Agent> {
  const { log, clock = createSystemClock({ keepAlive: true }), failpoint = noFailpoints } = deps;
  const failures: unknown[] = [];
  const life = new Lifecycle((_part, error) => failures.push(error));
  try {
    makeDataDir(config.dataDir);
    life.add('data folder', lockDataDir(config.dataDir));
    // A process that died during a job left its files here.
    rmSync(scratchDir(config), { recursive: true, force: true });
    const mark = new WorkMark(workMarkPath(config.dataDir));
    life.add('work mark', () => mark.close());
    const journal = openAgentJournal(config.dataDir);
    life.add('journal', () => journal.close());
    const suspects = new Suspects({ mark, deaths: journal.deaths, clock, log });
    const served = claimLocation(journal, config.location);
    if (served !== config.location) throw new LocationFixedError(config.dataDir, served, config.location);
    forgetClockDoubt(journal);
    const stopping = new AbortController();
    life.add('time of the service', () => stopping.abort());
    const clockGuard = new ClockGuard({
      clock,
      witnesses: {
        ask: () => askServiceTime(config.url, stopping.signal),
        newestRow: () => newestEntry(journal),
      },
      changed: (verdict) => recordClockVerdict(verdict, journal, log),
    });
    const stickers = await openStickerImages(config.dataDir, log);
    life.add('sticker images', () => stickers.close());
    const memory = noteMemory(journal, 'message-store');
    const simulated = config.simulate ? simulateMessages(config, { memory, clock, suspects }) : undefined;
    const messages =
      simulated ?? (await openMessages(config, { ...deps, journal, memory, clock, clockGuard, suspects }));
    life.add('messages', () => messages.close());

    const enrolment = await openEnrolment(config, messages.environment().macos, log);
    const settings = linkSettings(config, deps.link);
    const link = new Link({
      tokens: { token: () => enrolment.token(), renew: () => enrolment.activate() },
      openSession: (token, handlers) =>
        new WebSocketSession({
          url: config.url,
          token,
          registration: () => ({
            type: 'register',
            locationId: config.location,
            agent: { version: AGENT_VERSION },
            os: { name: 'macOS', version: messages.environment().macos },
            capabilities: messages.capabilities(),
          }),
          handlers,
          suspects,
          clock,
          log,
          settings,
        }),
      outbox: journal.outbox,
      suspects,
      onReleased: (guid) => receiver.readAgain(guid),
      clock,
      log,
      failpoint,
      random: Math.random,
      settings,
      onSend: (frame) => queue.accept(frame),
      onInvalidSend: (request, reason) => queue.rejectInvalid(request, reason),
      onSetAside: (request) => queue.rejectSetAside(request),
      onAllowed: (messageId) => queue.allow(messageId),
      // A service that does not mirror would take a mirrored message for one from the customer.
      onRegistered: ({ mirror = false }) => journal.setNote('mirror', String(mirror)),
      readReach: (phone) => readReach(phone, messages.store),
      onState: (state) => {
        recordLinkState(state, { journal, log, clock, locationId: config.location });
        if (state.state === 'registered') reporter.registered();
      },
    });
    const reporter = new StateReporter({
      read: () =>
        readMacState(messages, journal, clock.now(), {
          pacing: pacing.state(queue.held()),
          canary: canary?.state(),
        }),
      send: (frame) => link.sendState(frame),
      clock,
      log,
    });

    const pacing = new Pacing({
      limits: pacingLimits(config),
      memory: journal,
      clock,
      random: Math.random,
    });
    const oneAtATime = new OneAtATime();
    const canary =
      config.canaryMinutes === 0
        ? undefined
        : new Canary({
            settings: { intervalMs: config.canaryMinutes * 60_000, quietHours: config.canaryQuiet },
            store: messages.store,
            send: (handle, text, begin) =>
              oneAtATime.run(() => {
                begin();
                return messages.send({ kind: 'text', text }, { to: 'person', handle, service: 'iMessage' });
              }),
            memory: noteMemory(journal, 'canary'),
            isConnected: () => readLinkState(journal)?.state === 'registered',
            clock,
            log,
          });
    const perform = jobPerformer(config, {
      journal,
      messages,
      pacing,
      log,
      clock,
      failpoint,
      downloads: deps.downloads,
      images: stickers.images,
      suspects,
    });
    const queue = new Queue({
      journal,
      clock,
      log,
      failpoint,
      suspects,
      limit: config.queueLimit,
      limitWaitMs: config.limitWaitMs,
      storeState: () => messages.store.state(),
      pause: (signal) => pacing.pause(signal),
      perform: (job, frame) => oneAtATime.run(() => perform(job, frame)),
      onFrames: () => link.flush(),
    });
    const receiver = new Receiver({
      messages,
      journal,
      uploads: createUploads(config.url, () => enrolment.savedToken()),
      suspects,
      clock,
      log,
      failpoint,
      settings: receiverSettings(config),
      isCanary: (row) => canary?.isCanary(row) === true,
      mirrors: () => config.mirror && journal.note('mirror') === 'true',
      onFrames: () => link.flush(),
    });

    if (simulated !== undefined) {
      const control = await openControlPort(
        config.controlPort,
        {
          people: simulated.people,
          change: (change) => simulated.change(change),
          view: () => ({ ...simulated.view(), queue: queue.depth() }),
        },
        log,
      );
      life.add('control port', () => control.close());
      log.info({ event: 'agent.simulator_ready', controlUrl: control.url }, 'simulator ready');
    }

    const calls = localHandlers({
      config,
      messages,
      journal,
      clock,
      oneAtATime,
      createScratch: () => new ScratchFolder(scratchDir(config)),
      isScreenLocked: () => isScreenLocked(systemPrograms(config.programs).ioreg),
      stop: () => link.stop(),
    });
    const closeLocalSocket = await openLocalSocket(config.dataDir, calls, log).catch((error: unknown) => {
      log.warn({ event: 'agent.local_socket_not_opened', err: error }, 'local socket not opened');
    });
    if (closeLocalSocket !== undefined) life.add('local socket', closeLocalSocket);

    // macOS does not ask again after a decision: this only checks that the permission is still granted.
    if (journal.note('automation') === 'granted') void calls.requestPermission('automation');

    queue.start();
    receiver.start();
    const ended = link.run();
    // The link closes after the queue and the receiver, so that it still sends the status of the last job.
    life.add('link', async () => {
      link.stop();
      await ended;
    });
    life.add('state reports', reporter.start());
    if (canary !== undefined) life.add('canary', canary.start());
    life.add('queue', () => queue.stop());
    life.add('receiver', () => receiver.stop());
    const health = () => ({
      link: readLinkState(journal)?.state ?? 'starting',
      queue: queue.depth(),
      inboundWaiting: receiver.pendingCount(),
      framesIgnored: link.framesIgnored,
    });
    life.add('upkeep', startUpkeep({ journal, clock, clockGuard, log, health, intervalMs: config.healthMs }));
    const stop = async () => {
      await life.close();
      if (failures.length > 0)
        throw new AggregateError(failures, 'Some parts of the agent did not close cleanly');
    };
    return { ended, stop };
  } catch (error) {
    await life.close();
    throw error;
  }
}

function jobPerformer(
  config: AgentConfig,
  deps: {
    journal: Journal;
    messages: Messages;
    pacing: Pacing;
    log: Log;
    clock: Clock;
    failpoint: BlockingFailpoint;
    downloads: Downloads | undefined;
    images: Images;
    suspects: Suspects;
  },
): (job: Job, frame: SendFrame) => Promise<JobOutcome | Held> {
  const { journal, messages, pacing, log, clock, failpoint, images, suspects } = deps;
  const downloads = deps.downloads ?? createDownloads({ allowLoopback: config.allowLoopback });
  return async (job, frame) => {
    const scratch = new ScratchFolder(scratchDir(config));
    const workOn = () => suspects.workOn(outboundName(job.key));
    const steps = stepsOf(job.key, {
      jobs: journal.jobs,
      store: messages.store,
      clock,
      log,
      failpoint,
      timeoutMs: config.sendLimitMs,
      workOn,
    });
    const settings = { confirmMs: config.confirmMs, channel: config.channel };
    try {
      const jobDeps = { messages, steps, downloads, scratch, images, clock, pacing, settings, workOn };
      return await performJob(frame, jobDeps);
    } finally {
      await scratch.clear();
    }
  };
}

function scratchDir(config: AgentConfig): string {
  return join(config.dataDir, 'scratch');
}

function linkSettings(
  config: AgentConfig,
  overrides: Partial<LinkSettings & SessionSettings> = {},
): LinkSettings & SessionSettings {
  return {
    heartbeatMs: config.heartbeatMs,
    connectTimeoutMs: 10_000,
    backoffBaseMs: 500,
    backoffCapMs: config.backoffCapMs,
    protocolWaitMs: config.protocolWaitMs,
    wakeCheckMs: 5_000,
    wakeToleranceMs: 10_000,
    ...overrides,
  };
}

function pacingLimits(config: AgentConfig): PacingLimits {
  return {
    gap: config.sendGap ?? (config.simulate ? NO_GAP : DEFAULT_GAP),
    newPerHour: config.newPerHour,
    newPerDay: config.newPerDay,
    warmUp: config.warmUp ?? [],
    maxUnanswered: config.maxUnanswered,
    maxAnswers: config.maxAnswers,
  };
}

function receiverSettings(config: AgentConfig): ReceiverSettings {
  return {
    pollMs: 2_000,
    chatJoinTimeoutMs: 10_000,
    orphanMs: 600_000,
    attachmentWaitMs: config.attachmentWaitMs,
    bodyWaitMs: 10_000,
    previewWaitMs: 2_000,
    forwardFiltered: config.forwardFiltered,
    maxAgeMs: 72 * 3600_000,
    retryBaseMs: 500,
    retryCapMs: config.backoffCapMs,
  };
}
