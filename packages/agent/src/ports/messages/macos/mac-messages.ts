import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

import type { Clock } from '@footbridge/runtime/clock';

import type { MessagesFolders } from '../attachment-files.ts';
import { majorOf, MIN_MACOS } from '../feature-versions.ts';
import { MacReader } from './mac-reader.ts';
import type { MessagesShape } from '../messages-shape.ts';
import { StoreUnavailableError } from '../messages.ts';
import type {
  Destination,
  Environment,
  ExpectedMessage,
  FileFolder,
  Messages,
  MessageStore,
  OutgoingMessage,
  Permission,
  PermissionState,
  PressResult,
  RowGuard,
  SendOptions,
  ServiceName,
  StoredAttachment,
  TapbackPress,
} from '../messages.ts';
import type { StoreMemory } from '../store-generation.ts';
import { pressTapback } from './accessibility/press-tapback.ts';
import type { UnconfirmedPress } from './accessibility/press-tapback.ts';
import { needsScreen, sendOnScreen } from './accessibility/send-on-screen.ts';
import { LastDispatch } from './last-dispatch.ts';
import { MacShape } from './mac-shape.ts';
import { readMacosVersion } from './macos-version.ts';
import { Osascript } from './osascript.ts';
import { recoverOutcome } from './recover-outcome.ts';
import { requestPermission } from './request-permission.ts';
import { failed } from '../../../outcome.ts';
import { sendByEvent } from './send-by-event.ts';
import type { Outcome } from '../../../outcome.ts';

const run = promisify(execFile);
const COMMAND_TIMEOUT_MS = 30_000;

/** The programs of macOS that the engine uses, by path. */
export interface MacPrograms {
  readonly osascript: string;
  readonly open: string;
  readonly swVers: string;
  readonly afconvert: string;
  readonly log: string;
}

export interface MacMessagesOptions {
  /** The home directory of the user who is signed in to Messages. */
  readonly home: string;
  readonly programs: MacPrograms;
  readonly memory: StoreMemory;
  readonly clock: Clock;
  /** Whether the owner allows UI automation. */
  readonly uiAutomation: boolean;
  /** Whether the clock is right, so that old files may be deleted. Default: true. */
  readonly mayDelete?: () => boolean;
  readonly guard?: RowGuard | undefined;
}

/**
 * The Messages app of this Mac. The agent reads its store directly, and sends texts and files with Apple events. Reactions, replies, effects
 * and new groups are done on the screen with Accessibility. A message that macOS cannot send fails; it is not sent in another form.
 */
export class MacMessages implements Messages {
  readonly #options: MacMessagesOptions;
  readonly #reader: MacReader;
  readonly #osascript: Osascript;
  readonly #lastDispatch: LastDispatch;
  readonly #stagingFolders: Readonly<Record<FileFolder, string>>;
  readonly #macos: string;
  readonly #build: string;
  /** Whether macOS let the agent control Messages at the last send. Undefined before the first send. */
  #automation: 'granted' | 'denied' | undefined;
  /** The services that Messages was signed in to when the owner was asked for Automation. */
  #services: readonly ServiceName[] | undefined;
  /** Whether macOS let the agent control the screen at the last action. */
  #accessibility: 'granted' | 'denied' | undefined;
  /** Aborted when the last send is given up. */
  #sending = new AbortController();
  readonly #unconfirmedPresses = new Map<string, UnconfirmedPress>();

  /** Resolves when the version of macOS is known. */
  static async open(options: MacMessagesOptions): Promise<MacMessages> {
    const { version, build } = await readMacosVersion(options.programs.swVers);
    return new MacMessages(options, version, build);
  }

  private constructor(options: MacMessagesOptions, macos: string, build: string) {
    const { home, programs, memory, clock, guard } = options;
    const folders: MessagesFolders = { home, messages: join(home, 'Library/Messages') };
    this.#options = options;
    this.#macos = macos;
    this.#build = build;
    this.#reader = new MacReader({ folders, memory, clock, guard });
    this.#osascript = new Osascript({ path: programs.osascript, clock });
    this.#lastDispatch = new LastDispatch(join(home, 'Library/Caches/Footbridge/last-send.jsonl'));
    // Messages reads the first two folders. Whether it reads the third depends on the version of macOS.
    this.#stagingFolders = {
      messages: join(folders.messages, '.send-staging'),
      container: join(home, 'Library/Containers/com.apple.MobileSMS/Data/tmp/footbridge'),
      pictures: join(home, 'Pictures/.footbridge'),
    };
  }

  get shape(): MessagesShape {
    const { clock, programs } = this.#options;
    return new MacShape({
      store: this.#reader.store,
      osascript: this.#osascript,
      log: programs.log,
      clock,
    });
  }

  get store(): MessageStore {
    return this.#reader.store;
  }

  environment(): Environment {
    const automation = this.#automation;
    const accessibility = this.#accessibility;
    return {
      macos: this.#macos,
      automation: this.#options.uiAutomation,
      // Each action checks the permission itself, because the owner can grant it at any time.
      accessibility: true,
      report: {
        build: this.#build,
        permissions: {
          ...(automation !== undefined && { automation }),
          ...(accessibility !== undefined && { accessibility }),
        },
        ...(this.#services !== undefined && {
          messages: { signedIn: this.#services.length > 0, services: this.#services },
        }),
      },
    };
  }

  capabilities(): readonly string[] {
    const onScreen = ['replies', 'animations', 'reactions'];
    if (majorOf(this.#macos) >= MIN_MACOS.emojiReactions) onScreen.push('emoji-reactions');
    return ['text', 'groups', 'attachments', ...(this.#options.uiAutomation ? onScreen : [])];
  }

  async send(
    message: OutgoingMessage,
    destination: Destination,
    { onDispatched, folder }: SendOptions = {},
  ): Promise<Outcome> {
    if (message.kind === 'sticker')
      return failed('COMPOSE_FAILED', 'macOS offers no way to send a sticker. Nothing was sent.');
    if (this.#needsScreen(message, destination)) return this.#sendOnScreen(message, destination);
    this.#sending = new AbortController();
    const { messages, container, pictures } = this.#stagingFolders;
    const result = await sendByEvent(message, destination, {
      ...this.#deps,
      givenUp: this.#sending.signal,
      lastDispatch: this.#lastDispatch,
      stagingFolders: folder === undefined ? [messages, container] : [this.#stagingFolders[folder]],
      onDispatched,
      mayDelete: this.#options.mayDelete ?? (() => true),
    });
    // Only a selftest uses this folder, so no later send would remove the file.
    if (folder === 'pictures') await rm(pictures, { recursive: true, force: true });
    if (result.state === 'delivered') this.#automation = 'granted';
    else if (result.code === 'AX_DENIED') this.#automation = 'denied';
    return result;
  }

  outcomeOf(message: ExpectedMessage, destination: Destination, since: number): Promise<Outcome> {
    // A send that still waits for Messages must not continue once its outcome is decided.
    this.#sending.abort();
    const { clock } = this.#options;
    const deps = { store: this.store, clock, lastDispatch: this.#lastDispatch };
    return recoverOutcome(message, destination, since, deps);
  }

  async react(press: TapbackPress): Promise<PressResult> {
    if (!this.#options.uiAutomation) return UI_AUTOMATION_DISABLED;
    const result = await pressTapback(press, { ...this.#deps, unconfirmed: this.#unconfirmedPresses });
    this.#accessibility = accessibilityAfter(result, this.#accessibility);
    return result;
  }

  async requestPermission(permission: Permission): Promise<PermissionState> {
    const { state, services } = await requestPermission(permission, this.#osascript);
    if (permission === 'automation' && state !== 'unknown') this.#automation = state;
    if (permission === 'accessibility' && state !== 'unknown') this.#accessibility = state;
    if (services !== undefined) this.#services = services;
    return state;
  }

  audioDuration(attachment: StoredAttachment): number | undefined {
    return this.#reader.audioDuration(attachment);
  }

  watch(listener: () => void): () => void {
    return this.#reader.watch(listener);
  }

  close(): void {
    this.#reader.close();
  }

  get #deps() {
    const { clock, programs } = this.#options;
    return {
      store: this.#reader.store,
      osascript: this.#osascript,
      clock,
      startMessages: async () => {
        // In the background, without a window in front of the owner's.
        await run(programs.open, ['-gj', '-a', 'Messages'], {
          timeout: COMMAND_TIMEOUT_MS,
          killSignal: 'SIGKILL',
        }).catch(() => undefined);
      },
    };
  }

  #needsScreen(message: OutgoingMessage, destination: Destination): boolean {
    try {
      return needsScreen(message, destination, this.#reader.store);
    } catch (error) {
      // The send itself reports the unreadable store.
      if (error instanceof StoreUnavailableError) return false;
      throw error;
    }
  }

  async #sendOnScreen(message: OutgoingMessage, destination: Destination): Promise<Outcome> {
    if (!this.#options.uiAutomation) return UI_AUTOMATION_DISABLED;
    const result = await sendOnScreen(message, destination, this.#deps);
    this.#accessibility = accessibilityAfter(result, this.#accessibility);
    return result;
  }
}

const UI_AUTOMATION_DISABLED = failed(
  'UI_AUTOMATION_DISABLED',
  'Replies, effects, reactions and new groups are disabled on this Mac (FOOTBRIDGE_UI_AUTOMATION). Nothing was sent.',
);

/** Returns what an action on the screen showed about the Accessibility permission. */
function accessibilityAfter(
  result: Outcome | PressResult,
  before: 'granted' | 'denied' | undefined,
): 'granted' | 'denied' | undefined {
  if (result.state === 'delivered' || result.state === 'pressed') return 'granted';
  return 'code' in result && result.code === 'AX_DENIED' ? 'denied' : before;
}
