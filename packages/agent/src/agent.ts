import { existsSync, rmSync } from 'node:fs';
import { homedir, hostname } from 'node:os';
import { join } from 'node:path';

import type { SendFrame } from '@footbridge/protocol/frames';
import { asDeviceId } from '@footbridge/protocol/ids';
import { createSystemClock, every as repeat } from '@footbridge/runtime/clock';
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
import {
  blueBubblesPasswordPath,
  journalPath,
  lockDataDir,
  makeDataDir,
  workMarkPath,
} from './edges/data-dir.ts';
import { createDownloads } from './edges/downloads/downloads.ts';
import { stableDeviceId } from './edges/enrolment/device-id.ts';
import { Enrolment } from './edges/enrolment/enrolment.ts';
import type { AgentReport, LocalCalls } from './edges/local-socket/local-calls.ts';
import { openLocalSocket } from './edges/local-socket/local-server.ts';
import { isScreenLocked } from './edges/screen-lock.ts';
import { ScratchFolder } from './edges/scratch.ts';
import { askServiceTime } from './edges/service-time.ts';
import { openStickerImages } from './edges/sticker-images.ts';
import { createUploads } from './edges/uploads.ts';
import { WebSocketSession } from './edges/websocket-session.ts';
import type { SessionSettings } from './edges/websocket-session.ts';
import { JournalTooOldError, LocationFixedError, NoEngineError } from './errors.ts';
import { Canary } from './flows/canary/canary.ts';
import { Receiver } from './flows/inbound/receive-messages.ts';
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
import type { Held, Outcome } from './flows/outbound/outcome.ts';
import { Pacing } from './flows/outbound/pacing.ts';
import { performJob } from './flows/outbound/perform-job.ts';
import { Queue } from './flows/outbound/queue.ts';
import { stepsOf } from './flows/outbound/steps.ts';
import { readReach } from './flows/reach/read-reach.ts';
import { interruptSend, resolveInterruptedSend } from './flows/selftest/interrupted-send.ts';
import { runSelftest } from './flows/selftest/selftest.ts';
import { writeTestFiles } from './flows/selftest/test-files.ts';
import { openJournal, openJournalAsIs } from './ports/journal/journal-sqlite.ts';
import type { Job, Journal } from './ports/journal/journal.ts';
import type { Limits as BlueBubblesLimits } from './ports/messages/bluebubbles/await-outcome.ts';
import type { BlueBubblesFinding } from './ports/messages/bluebubbles/check-server.ts';
import { examineBlueBubbles } from './ports/messages/bluebubbles/examine.ts';
import { readPasswordFile } from './ports/messages/bluebubbles/password-file.ts';
import { MacMessages } from './ports/messages/macos/mac-messages.ts';
import type { MacPrograms } from './ports/messages/macos/mac-messages.ts';
import { BlueBubblesMessages } from './ports/messages/messages-bluebubbles.ts';
import { SimulatedMessages } from './ports/messages/messages-simulated.ts';
import { PERMISSIONS, StoreUnavailableError } from './ports/messages/messages.ts';
import type { Messages, RowGuard } from './ports/messages/messages.ts';
import type { StoreMemory } from './ports/messages/store-generation.ts';
import { inboundName, outboundName, Suspects } from './ports/suspects/suspects.ts';

/** The address that the simulated Mac sends from. */
const OWN_HANDLE = '+15550100000';
const NO_GAP = { minMs: 0, maxMs: 0 };
const DEFAULT_GAP = { minMs: 1_000, maxMs: 3_000 };
const RETENTION_MS = 30 * 24 * 3600_000;
const PRUNE_INTERVAL_MS = 3600_000;

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
    // A process that died during a job leaves its files here.
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
    const guard = guardOf(suspects);
    const simulated = config.simulate ? simulateMessages(config, { memory, clock, guard }) : undefined;
    const messages =
      simulated ?? (await openMessages(config, { ...deps, journal, memory, clock, clockGuard, guard }));
    life.add('messages', () => messages.close());

    const enrolment = await createEnrolment(config, messages.environment().macos, log);
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
      // An older service would mistake a mirrored message for one from the customer.
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
      limits: {
        gap: config.sendGap ?? (config.simulate ? NO_GAP : DEFAULT_GAP),
        newPerHour: config.newPerHour,
        newPerDay: config.newPerDay,
        warmUp: config.warmUp ?? [],
        maxUnanswered: config.maxUnanswered,
        maxAnswers: config.maxAnswers,
      },
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
      settings: {
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
      },
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

    const calls = localCalls(config, { messages, journal, clock, oneAtATime, stop: () => link.stop() });
    const closeLocalSocket = await openLocalSocket(config.dataDir, calls, log).catch((error: unknown) => {
      log.warn(
        { event: 'agent.local_socket_not_opened', err: error },
        'local socket not opened: setup, doctor and status see less',
      );
    });
    if (closeLocalSocket !== undefined) life.add('local socket', closeLocalSocket);

    // Once it was decided, macOS does not ask again: this only finds out whether the permission is still there.
    if (journal.note('automation') === 'granted') void calls.requestPermission('automation');

    queue.start();
    receiver.start();
    const ended = link.run();
    // The link closes after the queue and the receiver, so that the status of the last job is still sent.
    life.add('link', async () => {
      link.stop();
      await ended;
    });
    life.add('state reports', reporter.start());
    if (canary !== undefined) life.add('canary', canary.start());
    life.add('queue', () => queue.stop());
    life.add('receiver', () => receiver.stop());
    const health = () => logHealth(journal, link, queue, receiver, log);
    life.add('health', every(config.healthMs, log, health));
    life.add(
      'checkpoints',
      every(config.healthMs, log, () => journal.walCheckpoint()),
    );
    life.add('pruning', pruneHourly(journal, { clock, clockGuard, log }));
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

/** The Mac that the agent runs on. */
export interface Mac {
  readonly home: string;
  readonly programs: MacPrograms;
}

function thisMac({ programs }: AgentConfig): Mac {
  if (process.platform !== 'darwin' && programs === undefined) throw new NoEngineError();
  return { home: homedir(), programs: systemPrograms(programs) };
}

/** What the other commands can ask of this process. */
function localCalls(
  config: AgentConfig,
  deps: {
    messages: Messages;
    journal: Journal;
    clock: Clock;
    oneAtATime: OneAtATime;
    stop: () => void;
  },
): LocalCalls {
  const { messages, journal, clock, oneAtATime, stop } = deps;
  const interrupted = noteMemory(journal, 'interrupted-send');
  return {
    report: () => agentReport(config, messages, journal, clock.now()),
    requestPermission: (permission) =>
      oneAtATime.run(async () => {
        const state = (await messages.requestPermission?.(permission)) ?? 'granted';
        journal.setNote(permission, state);
        return state;
      }),
    sendText: (handle, text) =>
      oneAtATime.run(() =>
        messages.send({ kind: 'text', text }, { to: 'person', handle, service: 'iMessage' }),
      ),
    selftest: (options, listener) =>
      oneAtATime.run(async () => {
        const scratch = new ScratchFolder(scratchDir(config));
        try {
          const files = await writeTestFiles((name, bytes) => scratch.write(name, bytes));
          const onMac = process.platform === 'darwin' && !config.simulate;
          const { ioreg } = systemPrograms(config.programs);
          return await runSelftest(options, {
            messages,
            files,
            clock,
            agent: AGENT_VERSION,
            onMac,
            isScreenLocked: config.simulate ? undefined : () => isScreenLocked(ioreg),
            ...listener,
          });
        } finally {
          await scratch.clear();
        }
      }),
    interruptSend: (to) =>
      oneAtATime.run(() =>
        interruptSend(to, () => process.kill(process.pid, 'SIGKILL'), { messages, memory: interrupted }),
      ),
    resolveInterruptedSend: () =>
      oneAtATime.run(() => resolveInterruptedSend({ messages, memory: interrupted })),
    stop,
  };
}

function agentReport(config: AgentConfig, messages: Messages, journal: Journal, now: number): AgentReport {
  const { type: _type, ...state } = readMacState(messages, journal, now);
  const store = messages.store.state();
  const sentAt = newestMessageAt(messages);
  return {
    version: AGENT_VERSION,
    location: config.location,
    link: readLinkState(journal) ?? { state: 'connecting' },
    store,
    newestMessageAgeSec: sentAt === undefined ? null : Math.max(0, Math.floor((now - sentAt) / 1000)),
    engine: config.engine,
    uiAutomation: config.uiAutomation && config.engine === 'macos',
    grantedBefore: PERMISSIONS.filter((permission) => journal.note(permission) === 'granted'),
    state,
  };
}

function newestMessageAt({ store }: Messages): number | undefined {
  try {
    return store.row(store.newestRowid())?.sentAt;
  } catch (error) {
    if (error instanceof StoreUnavailableError) return undefined;
    throw error;
  }
}

/** A row of the store that ended the agent is not read at once, and not at all after the second time (I10). */
function guardOf(suspects: Suspects): RowGuard {
  return {
    read: (guid, read) => {
      const name = inboundName(guid);
      const verdict = suspects.verdict(name);
      return verdict === 'waits' || verdict === 'set aside' ? undefined : suspects.during(name, read);
    },
  };
}

function simulateMessages(
  config: AgentConfig,
  { memory, clock, guard }: { memory: StoreMemory; clock: Clock; guard: RowGuard },
): SimulatedMessages {
  const messages = new SimulatedMessages({
    dir: join(config.dataDir, 'simulated-messages'),
    macos: config.macos,
    ownHandle: OWN_HANDLE,
    memory,
    guard,
    clock,
  });
  messages.change({ permissions: { automation: config.uiAutomation } });
  return messages;
}

function noteMemory(journal: Journal, name: string): StoreMemory {
  return { load: () => journal.note(name), save: (value) => journal.setNote(name, value) };
}

function openMessages(
  config: AgentConfig,
  deps: Pick<AgentDeps, 'log' | 'mac' | 'bluebubbles'> & {
    readonly journal: Journal;
    readonly memory: StoreMemory;
    readonly clock: Clock;
    readonly clockGuard: ClockGuard;
    readonly guard: RowGuard;
  },
): Promise<Messages> {
  const { mac = thisMac(config), memory, clock, log, journal, bluebubbles = {}, clockGuard, guard } = deps;
  const mayDelete = () => clockGuard.verdict?.agrees === true;
  if (config.engine === 'macos')
    return MacMessages.open({ ...mac, memory, clock, guard, uiAutomation: config.uiAutomation, mayDelete });
  return BlueBubblesMessages.open({
    ...mac,
    url: config.bluebubblesUrl,
    password: readPasswordFile(passwordFileOf(config)),
    memory,
    guard,
    features: noteMemory(journal, 'bluebubbles'),
    clock,
    log,
    limits: bluebubbles,
  });
}

/** Returns the path of the file with the password of BlueBubbles. */
export function passwordFileOf({
  dataDir,
  bluebubblesPasswordFile,
}: Pick<AgentConfig, 'dataDir' | 'bluebubblesPasswordFile'>): string {
  return bluebubblesPasswordFile ?? blueBubblesPasswordPath(dataDir);
}

export { checkBlueBubbles, findBlueBubbles } from './ports/messages/bluebubbles/check-server.ts';
export { readPasswordFile };

/** Checks the BlueBubbles server of a data folder for `doctor`, also while the agent runs. Nothing is sent. */
export async function examineBlueBubblesOf(
  config: Pick<AgentConfig, 'dataDir' | 'bluebubblesUrl' | 'bluebubblesPasswordFile'>,
  home = homedir(),
): Promise<BlueBubblesFinding[]> {
  const journal = openForExamination(config.dataDir);
  try {
    return await examineBlueBubbles({
      url: config.bluebubblesUrl,
      passwordFile: passwordFileOf(config),
      features: noteMemory(journal, 'bluebubbles'),
      home,
      clock: createSystemClock({ keepAlive: true }),
    });
  } finally {
    journal.close();
  }
}

/** Without a usable journal, nothing is known about earlier examinations. */
function openForExamination(dataDir: string): Journal {
  if (!existsSync(journalPath(dataDir))) return openJournal(':memory:');
  try {
    return openAgentJournalAsIs(dataDir, { readOnly: true });
  } catch (error) {
    if (error instanceof JournalTooOldError) return openJournal(':memory:');
    throw error;
  }
}

/** Opens the journal in a data folder and migrates it. Commands use `openAgentJournalAsIs`. */
export function openAgentJournal(dataDir: string): Journal {
  return openJournal(journalPath(dataDir));
}

/** Opens the journal in a data folder for a command, also while an agent of this version or an older one runs. */
export function openAgentJournalAsIs(dataDir: string, options?: { readonly readOnly?: boolean }): Journal {
  return openJournalAsIs(journalPath(dataDir), options);
}

export async function createEnrolment(
  config: Pick<AgentConfig, 'url' | 'dataDir' | 'license' | 'deviceId'>,
  osVersion: string,
  log: Log,
): Promise<Enrolment> {
  const { url, dataDir, license } = config;
  makeDataDir(dataDir);
  const deviceId = asDeviceId(config.deviceId) ?? (await stableDeviceId(dataDir));
  return new Enrolment({
    url,
    dataDir,
    license,
    deviceId,
    name: hostname().slice(0, 64) || 'Mac',
    osVersion,
    appVersion: AGENT_VERSION,
    log,
  });
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
): (job: Job, frame: SendFrame) => Promise<Outcome | Held> {
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

function logHealth(journal: Journal, link: Link, queue: Queue, receiver: Receiver, log: Log): void {
  log.info(
    {
      event: 'agent.health',
      link: readLinkState(journal)?.state ?? 'starting',
      queue: queue.depth(),
      ...journal.outbox.counts(),
      inboundWaiting: receiver.pendingCount(),
      framesIgnored: link.framesIgnored,
      rssMb: Math.round(process.memoryUsage.rss() / 1024 / 1024),
    },
    'health',
  );
}

/** Deletes old entries now and every hour, while the clock is right. */
function pruneHourly(
  journal: Journal,
  { clock, clockGuard, log }: { readonly clock: Clock; readonly clockGuard: ClockGuard; readonly log: Log },
): () => void {
  let isClosed = false;
  const prune = async () => {
    try {
      // The journal may have been closed meanwhile.
      if ((await clockGuard.mayDelete()) && !isClosed) journal.prune(clock.now() - RETENTION_MS);
    } catch (error) {
      if (!isClosed) logMaintenanceFailure(log, error);
    }
  };
  void prune();
  const stop = repeat(clock, PRUNE_INTERVAL_MS, () => void prune());
  return () => {
    isClosed = true;
    stop();
  };
}

function newestEntry({ jobs, inbox }: Journal): number | null {
  const times = [jobs.lastDeliveredAt(), inbox.lastSeenAt()].filter((time) => time !== undefined);
  return times.length === 0 ? null : Math.max(...times);
}

const logMaintenanceFailure = (log: Log, error: unknown) =>
  log.error({ event: 'journal.maintenance_failed', err: error }, 'journal maintenance failed, will retry');

/** Runs `task` at an interval. A failure, such as a full disk, is logged and retried at the next tick. */
function every(ms: number, log: Log, task: () => void): () => void {
  const timer = setInterval(() => {
    try {
      task();
    } catch (error) {
      logMaintenanceFailure(log, error);
    }
  }, ms);
  timer.unref();
  return () => clearInterval(timer);
}
