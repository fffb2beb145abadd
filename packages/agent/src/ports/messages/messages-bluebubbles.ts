import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';

import type { Clock } from '@footbridge/runtime/clock';
import { every } from '@footbridge/runtime/clock';
import type { Log } from '@footbridge/runtime/log';

import { EngineRefusedError } from '../../errors.ts';
import type { Limits } from './bluebubbles/await-outcome.ts';
import { checkServer, isHelperAlive } from './bluebubbles/check-server.ts';
import type { ServerCheck } from './bluebubbles/check-server.ts';
import { Features } from './bluebubbles/features.ts';
import type { Feature } from './bluebubbles/features.ts';
import { react } from './bluebubbles/react.ts';
import { sendThroughServer, storedForms } from './bluebubbles/send-through-server.ts';
import { ServerClient } from './bluebubbles/server-client.ts';
import { confirmByRow } from './confirm-by-row.ts';
import { readMacosVersion } from './macos/macos-version.ts';
import type { MacosVersion } from './macos/macos-version.ts';
import { MacReader } from './macos/mac-reader.ts';
import { StoreUnavailableError } from './messages.ts';
import type {
  Destination,
  Environment,
  ExpectedMessage,
  Messages,
  MessageStore,
  OutgoingMessage,
  PressResult,
  RowGuard,
  StoredAttachment,
  TapbackPress,
} from './messages.ts';
import { findSentRows } from './own-rows.ts';
import type { StoreMemory } from './store-generation.ts';
import { failed } from '../../outcome.ts';
import type { Failed, Outcome } from '../../outcome.ts';

export interface BlueBubblesOptions {
  /** The home directory of the user who is signed in to Messages. */
  readonly home: string;
  readonly programs: { readonly swVers: string; readonly afconvert: string };
  readonly url: string;
  readonly password: string;
  readonly memory: StoreMemory;
  readonly guard?: RowGuard | undefined;
  /** Remembers which features have worked on this Mac. */
  readonly features: StoreMemory;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits?: Partial<Limits>;
}

const LIMITS: Limits = {
  replyMs: 210_000,
  rowAfterReplyMs: 60_000,
  replyAfterRowMs: 100,
  certainMs: 3_000,
  recoveryMs: 30_000,
};
const CHECK_INTERVAL_MS = 30_000;
/** How long after a send to look for copies, which a second helper or a server that repeats the command makes. */
const COPY_MS = 60_000;
const COPY_POLL_MS = 5_000;

interface SentMessage {
  readonly message: ExpectedMessage;
  readonly destination: Destination;
  /** The position of the store before the send. */
  readonly since: number;
  /** The rows that the send found. Several rows have been reported as copies already. */
  readonly guids: readonly string[];
  /** Monotonic time. */
  readonly at: number;
}

/**
 * Messages through a BlueBubbles server on this Mac. The server, with its Private API, only sends and reacts. The agent reads the store of
 * Messages itself, and the row in the store decides every outcome. The screen is not used.
 */
export class BlueBubblesMessages implements Messages {
  readonly #options: BlueBubblesOptions;
  readonly #limits: Limits;
  readonly #macos: MacosVersion;
  readonly #reader: MacReader;
  readonly #client: ServerClient;
  readonly #features: Features;
  readonly #hasVoice: boolean;
  readonly #stopChecks: () => void;
  readonly #stopCounting: () => void;
  #server: ServerCheck;
  /** The messages of the last minute. */
  #recent: SentMessage[] = [];
  #isSending = false;

  /** Resolves when the server was checked. Rejects with an EngineRefusedError when the settings of the server must be changed first. */
  static async open(options: BlueBubblesOptions): Promise<BlueBubblesMessages> {
    const macos = await readMacosVersion(options.programs.swVers);
    const client = new ServerClient(options);
    const server = await checkServer(client);
    if (server.state === 'refused') {
      await client.close();
      throw new EngineRefusedError('BlueBubbles', reasonOf(server));
    }
    return new BlueBubblesMessages(options, macos, client, server);
  }

  private constructor(
    options: BlueBubblesOptions,
    macos: MacosVersion,
    client: ServerClient,
    server: ServerCheck,
  ) {
    const { home, memory, clock, features, programs, limits, guard } = options;
    this.#options = options;
    this.#limits = { ...LIMITS, ...limits };
    this.#macos = macos;
    this.#client = client;
    this.#server = server;
    this.#features = new Features(features, clock);
    this.#hasVoice = isExecutable(programs.afconvert);
    const folders = { home, messages: join(home, 'Library/Messages') };
    this.#reader = new MacReader({ folders, memory, clock, guard });
    this.#rememberVersions();
    if (server.state !== 'ready') this.#logServer(server);
    this.#stopChecks = every(clock, CHECK_INTERVAL_MS, () => void this.#watchServer());
    this.#stopCounting = every(clock, COPY_POLL_MS, () => this.#countCopies());
  }

  get store(): MessageStore {
    return this.#reader.store;
  }

  environment(): Environment {
    const { signedIn, services, state } = this.#server;
    return {
      macos: this.#macos.version,
      automation: false,
      accessibility: false,
      withoutScreen: true,
      report: {
        build: this.#macos.build,
        messages: {
          running: state === 'ready',
          ...(signedIn !== undefined && { signedIn }),
          ...(services !== undefined && { services }),
        },
      },
    };
  }

  capabilities(): readonly string[] {
    if (this.#server.state !== 'ready') return [];
    const features = (['replies', 'reactions'] as const).flatMap((feature) => {
      const state = this.#features.state(feature);
      if (state === 'failed') return [];
      return state === 'works' ? [feature] : [feature, `untested:${feature}`];
    });
    return ['text', 'groups', 'attachments', ...(this.#hasVoice ? ['voice'] : []), 'animations', ...features];
  }

  async send(message: OutgoingMessage, destination: Destination): Promise<Outcome> {
    if (message.kind === 'sticker')
      return failed('COMPOSE_FAILED', 'BlueBubbles cannot send a sticker. Nothing was sent.');
    const isReply = message.kind === 'text' && message.replyTo !== undefined;
    const refused = (await this.#refuse()) ?? (isReply ? this.#refuseFeature('replies') : undefined);
    if (refused !== undefined) return refused;
    const since = this.#positionNow();
    const { programs, clock } = this.#options;
    // The row of this send may appear before its GUID is known.
    this.#isSending = true;
    const { outcome, guids } = await sendThroughServer(message, destination, {
      client: this.#client,
      store: this.store,
      clock,
      limits: this.#limits,
      afconvert: programs.afconvert,
    }).finally(() => {
      this.#isSending = false;
    });
    if (isReply) this.#learnReply(message, outcome);
    if (guids.length > 1) this.#reportCopies(guids);
    if (since !== undefined) this.#recent.push({ message, destination, since, guids, at: clock.monotonic() });
    return outcome;
  }

  async outcomeOf(message: ExpectedMessage, destination: Destination, since: number): Promise<Outcome> {
    const find = (form: ExpectedMessage, budgetMs: number): Promise<Outcome> => {
      const confirmation = { message: form, destination, since, budgetMs };
      return confirmByRow(confirmation, { store: this.store, clock: this.#options.clock });
    };
    const [first, second = first] = storedForms(message);
    const outcome = await find(first, this.#limits.recoveryMs);
    const guids = outcome.state === 'delivered' ? [outcome.guid] : [];
    this.#recent.push({ message, destination, since, guids, at: this.#options.clock.monotonic() });
    this.#countCopies();
    return outcome.state === 'unknown' ? find(second, 0) : outcome;
  }

  async react(press: TapbackPress): Promise<PressResult> {
    const refused = (await this.#refuse()) ?? this.#refuseFeature('reactions');
    if (refused !== undefined) return refused;
    const { targetGuid, part } = press;
    const before = JSON.stringify(this.store.ownReaction(targetGuid, part));
    const result = await react(press, {
      client: this.#client,
      store: this.store,
      clock: this.#options.clock,
      limits: this.#limits,
    });
    if (result.state === 'failed') return result;
    if (JSON.stringify(this.store.ownReaction(targetGuid, part)) !== before)
      this.#features.worked('reactions');
    else await this.#learnLostReaction();
    return result;
  }

  audioDuration(attachment: StoredAttachment): number | undefined {
    return this.#reader.audioDuration(attachment);
  }

  watch(listener: () => void): () => void {
    return this.#reader.watch(listener);
  }

  close(): void {
    this.#stopChecks();
    this.#stopCounting();
    this.#countCopies();
    void this.#client.close();
    this.#reader.close();
  }

  /** Returns a failure while the server cannot send. */
  async #refuse(): Promise<Failed | undefined> {
    if (this.#server.state !== 'ready') await this.#check();
    if (this.#server.state === 'ready') return undefined;
    return failed('IMESSAGE_ERROR', `BlueBubbles cannot send: ${reasonOf(this.#server)} Nothing was sent.`);
  }

  #refuseFeature(feature: Feature): Failed | undefined {
    if (this.#features.state(feature) !== 'failed') return undefined;
    const what = feature === 'replies' ? 'Replies in a thread' : 'Reactions';
    const message = `${what} through BlueBubbles failed on this Mac and are not used. Run footbridge-agent doctor. Nothing was sent.`;
    return failed('NOT_IMPLEMENTED', message);
  }

  async #check(): Promise<void> {
    const before = this.#server.state;
    this.#server = await checkServer(this.#client);
    if (this.#server.state !== before) this.#logServer(this.#server);
    this.#rememberVersions();
  }

  async #watchServer(): Promise<void> {
    if (this.#server.state !== 'ready' || !(await isHelperAlive(this.#client))) await this.#check();
  }

  #logServer(server: ServerCheck): void {
    const { log } = this.#options;
    if (server.state === 'ready') log.info({ event: 'bluebubbles.ready' }, 'BlueBubbles ready');
    else log.warn({ event: 'bluebubbles.unavailable', because: reasonOf(server) }, 'BlueBubbles cannot send');
  }

  #rememberVersions(): void {
    const { version } = this.#server;
    if (version !== undefined) this.#features.setVersions(`${this.#macos.build} ${version}`);
  }

  /** Learns whether replies work: the helper sends a reply without its thread when it cannot load the original message. */
  #learnReply(message: OutgoingMessage, result: Outcome): void {
    if (result.state === 'failed') return;
    const row = result.state === 'delivered' ? this.store.rowByGuid(result.guid) : undefined;
    const isThreaded = message.kind === 'text' && row?.replyTo === message.replyTo;
    if (isThreaded) return this.#features.worked('replies');
    this.#features.failed('replies');
    const guid = result.state === 'delivered' ? result.guid : undefined;
    this.#options.log.warn({ event: 'bluebubbles.reply_lost', guid }, 'reply did not appear in its thread');
  }

  /** Learns that a Tapback made Messages quit: the helper is gone afterwards. */
  async #learnLostReaction(): Promise<void> {
    await this.#check();
    if (this.#server.state === 'ready') return;
    this.#features.failed('reactions');
    this.#options.log.warn({ event: 'bluebubbles.reaction_lost' }, 'helper gone after a reaction');
  }

  /** Reports each recent message that has copies, once. */
  #countCopies(): void {
    if (this.#isSending) return;
    try {
      const now = this.#options.clock.monotonic();
      this.#recent = this.#recent.filter((sent) => !this.#hasCopies(sent) && now - sent.at < COPY_MS);
    } catch (error) {
      // An unreadable store delays only a report.
      if (!(error instanceof StoreUnavailableError)) throw error;
    }
  }

  #hasCopies({ message, destination, since, guids }: SentMessage): boolean {
    if (guids.length > 1) return false;
    // The same text can be sent again on purpose.
    const others = new Set(this.#recent.flatMap((sent) => (sent.guids === guids ? [] : sent.guids)));
    const rows = storedForms(message).flatMap(
      (form) => findSentRows(this.store, form, destination, since)?.here ?? [],
    );
    const copies = rows.map(({ guid }) => guid).filter((guid) => !others.has(guid));
    if (copies.length < 2) return false;
    this.#reportCopies(copies);
    return true;
  }

  #reportCopies(guids: readonly string[]): void {
    this.#features.sentTwice();
    this.#options.log.warn(
      { event: 'bluebubbles.sent_twice', guids },
      'BlueBubbles sent a message more than once',
    );
  }

  #positionNow(): number | undefined {
    try {
      return this.store.position();
    } catch (error) {
      if (error instanceof StoreUnavailableError) return undefined;
      throw error;
    }
  }
}

/** Returns the first problem, and what to do about it. */
function reasonOf({ findings }: ServerCheck): string {
  const problem = findings.find(({ state }) => state === 'fail');
  if (problem === undefined) return '';
  return `${problem.check}: ${problem.sentence}. ${problem.next ?? ''}.`;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
