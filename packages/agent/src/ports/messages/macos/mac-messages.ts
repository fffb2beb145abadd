import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

import type { Clock } from '@footbridge/runtime/clock';

import type { MessagesFolders } from '../attachment-files.ts';
import { confirmByRow } from '../confirm-by-row.ts';
import { MacReader } from '../messages-macos.ts';
import type {
  Destination,
  Environment,
  Messages,
  MessageStore,
  OutgoingMessage,
  Permission,
  PermissionState,
  PressResult,
  SendResult,
  ServiceName,
} from '../messages.ts';
import type { StoreMemory } from '../store-generation.ts';
import { Osascript } from './osascript.ts';
import { requestPermission } from './request-permission.ts';
import { sendMessage } from './send-message.ts';
import { stagedName } from './stage-file.ts';

const run = promisify(execFile);
const COMMAND_TIMEOUT_MS = 30_000;
/** An `osascript` that outlived the agent ends its send, and the row appears after that. */
const RECOVERY_BUDGET_MS = 10_000;

/** The programs of macOS that the engine uses, by path. */
export interface MacPrograms {
  readonly osascript: string;
  readonly open: string;
  readonly swVers: string;
}

export interface MacMessagesOptions {
  /** The home directory of the user who is signed in to Messages. */
  readonly home: string;
  readonly programs: MacPrograms;
  readonly memory: StoreMemory;
  readonly clock: Clock;
  /** Whether the owner allows UI automation. */
  readonly uiAutomation: boolean;
}

/**
 * The Messages app of this Mac: its store is read directly, texts and files are sent with Apple events. Reactions, replies, effects
 * and new groups need Accessibility, which this version does not use: they fail, and nothing is sent in another form.
 */
export class MacMessages implements Messages {
  readonly #options: MacMessagesOptions;
  readonly #reader: MacReader;
  readonly #osascript: Osascript;
  readonly #stagingFolders: readonly [string, string];
  readonly #macos: string;
  readonly #build: string;
  /** Whether macOS let the agent control Messages at its last send. Unknown before the first one. */
  #automation: 'granted' | 'denied' | undefined;
  /** The services that Messages was signed in to when the owner was asked for Automation. */
  #services: readonly ServiceName[] | undefined;

  /** Resolves when the version of macOS is known. */
  static async open(options: MacMessagesOptions): Promise<MacMessages> {
    const read = async (field: string): Promise<string> => {
      const { stdout } = await run(options.programs.swVers, [field], { timeout: COMMAND_TIMEOUT_MS });
      return stdout.trim();
    };
    const [macos, build] = await Promise.all([read('-productVersion'), read('-buildVersion')]);
    return new MacMessages(options, macos, build);
  }

  private constructor(options: MacMessagesOptions, macos: string, build: string) {
    const { home, programs, memory, clock } = options;
    const folders: MessagesFolders = { home, messages: join(home, 'Library/Messages') };
    this.#options = options;
    this.#macos = macos;
    this.#build = build;
    this.#reader = new MacReader({ folders, memory, clock });
    this.#osascript = new Osascript({ path: programs.osascript, clock });
    // Messages reads both, and no folder outside of its own.
    this.#stagingFolders = [
      join(folders.messages, '.send-staging'),
      join(home, 'Library/Containers/com.apple.MobileSMS/Data/tmp/footbridge'),
    ];
  }

  get store(): MessageStore {
    return this.#reader.store;
  }

  environment(): Environment {
    const automation = this.#automation;
    return {
      macos: this.#macos,
      automation: this.#options.uiAutomation,
      accessibility: true,
      report: {
        build: this.#build,
        permissions: { ...(automation !== undefined && { automation }) },
        ...(this.#services !== undefined && {
          messages: { signedIn: this.#services.length > 0, services: this.#services },
        }),
      },
    };
  }

  capabilities(): readonly string[] {
    return ['text', 'groups', 'attachments'];
  }

  async send(message: OutgoingMessage, destination: Destination): Promise<SendResult> {
    const refused = refuse(message);
    if (refused !== undefined) return refused;
    const { clock, programs } = this.#options;
    const result = await sendMessage(message, destination, {
      store: this.store,
      osascript: this.#osascript,
      clock,
      stagingFolders: this.#stagingFolders,
      startMessages: async () => {
        // In the background, without a window in front of the owner's.
        await run(programs.open, ['-gj', '-a', 'Messages'], { timeout: COMMAND_TIMEOUT_MS }).catch(
          () => undefined,
        );
      },
    });
    if (result.result === 'sent') this.#automation = 'granted';
    else if (result.code === 'AX_DENIED') this.#automation = 'denied';
    return result;
  }

  outcomeOf(message: OutgoingMessage, destination: Destination, since: number): Promise<SendResult> {
    const staged =
      message.kind === 'text'
        ? message
        : { ...message, file: { ...message.file, name: stagedName(message.file.name) } };
    const { clock } = this.#options;
    return confirmByRow(
      { message: staged, destination, since, budgetMs: RECOVERY_BUDGET_MS },
      { store: this.store, clock },
    );
  }

  react(): Promise<PressResult> {
    return Promise.resolve(notBuilt('Reactions'));
  }

  async requestPermission(permission: Permission): Promise<PermissionState> {
    const { state, services } = await requestPermission(permission, this.#osascript);
    if (permission === 'automation' && state !== 'unknown') this.#automation = state;
    if (services !== undefined) this.#services = services;
    return state;
  }

  audioDuration(): undefined {
    return this.#reader.audioDuration();
  }

  watch(listener: () => void): () => void {
    return this.#reader.watch(listener);
  }

  close(): void {
    this.#reader.close();
  }
}

/** Returns a failure for what cannot be sent. A reply is never sent without its thread, a sticker never as a file. */
function refuse(message: OutgoingMessage): SendResult | undefined {
  if (message.kind === 'sticker')
    return { result: 'failed', code: 'COMPOSE_FAILED', message: 'macOS offers no way to send a sticker.' };
  if (message.kind !== 'text') return undefined;
  if (message.effect !== undefined) return notBuilt('Effects');
  return message.replyTo === undefined ? undefined : notBuilt('Replies in a thread');
}

function notBuilt(what: string): { result: 'failed'; code: 'NOT_IMPLEMENTED'; message: string } {
  const message = `${what} need Accessibility, which this version of the agent does not use. Nothing was sent.`;
  return { result: 'failed', code: 'NOT_IMPLEMENTED', message };
}
