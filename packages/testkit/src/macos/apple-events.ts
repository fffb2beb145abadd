import { extname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Delays, MessagesApp } from '@footbridge/simulator/messages-app';
import type { Privacy } from './privacy.ts';

export interface SimulatedAccount {
  readonly service: string;
  readonly enabled: boolean;
  readonly connection: string;
}

/** What the next Apple event of a kind does instead of working. */
export interface EventFault {
  readonly event: 'accounts' | 'chats' | 'send';
  /** The Apple event error, for example -1743. With `effect` the event is carried out first. */
  readonly error?: number;
  readonly effect?: boolean;
  readonly hangMs?: number;
  /** Messages is not running afterwards. */
  readonly quits?: boolean;
}

/** What becomes of a message that was handed to Messages. */
export interface SendBehaviour {
  readonly delays?: Partial<Delays>;
  /** `message.error` of its row. */
  readonly error?: number;
  /** `none`: no row is written. `ghost`: the row of macOS 26 for a wrong group. `twice`: two rows. `elsewhere`: in another chat. */
  readonly row?: 'one' | 'none' | 'ghost' | 'twice' | 'elsewhere';
  /** Milliseconds until the row is written. */
  readonly rowAfter?: number;
}

export interface SentContent {
  readonly to: { readonly service: string; readonly handle: string } | { readonly chatId: string };
  readonly text?: string;
  readonly file?: { readonly name: string; readonly path: string; readonly base64: string };
  /** The error with which the send ends. */
  readonly error?: number;
}

export type EventResult<T> = { readonly value: T } | { readonly error: number };

/** Messages knows the types of the common files. */
const MIME_TYPES: Readonly<Record<string, string>> = {
  '.txt': 'text/plain',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.m4a': 'audio/mp4',
};
const NOT_FOUND = -1728;
const NOT_RUNNING = -600;
const NOT_PERMITTED = -1743;
const NOT_ON_IMESSAGE = 22;

/** The Messages app as Apple events see it: its accounts and live chats, and sending. */
export class AppleEvents {
  readonly #app: MessagesApp;
  readonly #privacy: Pick<Privacy, 'mayControlMessages'>;
  #accounts: readonly SimulatedAccount[] = [
    { service: 'iMessage', enabled: true, connection: 'connected' },
    { service: 'SMS', enabled: true, connection: 'connected' },
  ];
  #faults: EventFault[] = [];
  #behaviour: SendBehaviour = {};
  #notOnIMessage = new Set<string>();
  #isRunning = true;
  #startMs: number | undefined = 0;
  /** Every message that was handed to Messages, in order. */
  readonly sent: SentContent[] = [];

  constructor(app: MessagesApp, privacy: Pick<Privacy, 'mayControlMessages'>) {
    this.#app = app;
    this.#privacy = privacy;
  }

  configure(settings: {
    accounts?: readonly SimulatedAccount[];
    faults?: readonly EventFault[];
    sends?: SendBehaviour;
    notOnIMessage?: readonly string[];
    running?: boolean;
    /** How long Messages takes to start. `null`: it does not start. */
    startMs?: number | null;
  }): void {
    if (settings.accounts !== undefined) this.#accounts = settings.accounts;
    if (settings.faults !== undefined) this.#faults = [...settings.faults];
    if (settings.sends !== undefined) this.#behaviour = settings.sends;
    if (settings.notOnIMessage !== undefined) this.#notOnIMessage = new Set(settings.notOnIMessage);
    if (settings.running !== undefined) this.#isRunning = settings.running;
    if (settings.startMs !== undefined) this.#startMs = settings.startMs ?? undefined;
  }

  faults(): readonly EventFault[] {
    return this.#faults;
  }

  /** Starts Messages, as `open` does. */
  start(): void {
    if (this.#startMs === undefined) return;
    setTimeout(() => {
      this.#isRunning = true;
    }, this.#startMs).unref();
  }

  accounts(): Promise<EventResult<readonly SimulatedAccount[]>> {
    return this.#perform('accounts', () => ({ value: this.#accounts }));
  }

  /** The chats that Messages has open, under the ids of its scripting interface. */
  chats(): Promise<EventResult<{ id: string; handles: string[] }[]>> {
    return this.#perform('chats', () => ({ value: this.#liveChats() }));
  }

  send(content: SentContent): Promise<EventResult<null>> {
    return this.#perform('send', () => {
      const chat =
        'chatId' in content.to
          ? this.#liveChats().find(({ id }) => id === (content.to as { chatId: string }).chatId)
          : { handles: [content.to.handle] };
      if (chat === undefined) return { error: NOT_FOUND };
      const service = 'service' in content.to ? content.to.service : 'iMessage';
      const unreachable =
        service === 'iMessage' && chat.handles.some((handle) => this.#notOnIMessage.has(handle));
      const error = unreachable ? NOT_ON_IMESSAGE : this.#behaviour.error;
      const sent = { ...content, ...(error !== undefined && { error }) };
      this.sent.push(sent);
      this.#write(sent, chat.handles, service);
      return { value: null };
    });
  }

  async #perform<T>(event: EventFault['event'], work: () => EventResult<T>): Promise<EventResult<T>> {
    if (!this.#isRunning) return { error: NOT_RUNNING };
    if (!(await this.#privacy.mayControlMessages())) return { error: NOT_PERMITTED };
    const index = this.#faults.findIndex((fault) => fault.event === event);
    const [fault] = index < 0 ? [] : this.#faults.splice(index, 1);
    if (fault === undefined) return work();
    const result = fault.effect === true ? work() : undefined;
    if (fault.hangMs !== undefined) await sleep(fault.hangMs, undefined, { ref: false });
    if (fault.quits === true) this.#isRunning = false;
    if (fault.error !== undefined) return { error: fault.error };
    return result ?? work();
  }

  #liveChats(): { id: string; handles: string[] }[] {
    const rows = this.#app.store.db
      .prepare(
        `SELECT c.guid, c.style, group_concat(h.id, char(10)) AS handles
         FROM chat c JOIN chat_handle_join j ON j.chat_id = c.ROWID JOIN handle h ON h.ROWID = j.handle_id
         GROUP BY c.ROWID`,
      )
      .all();
    return rows.map((row) => ({ id: String(row['guid']), handles: String(row['handles']).split('\n') }));
  }

  #write({ text = '', file, error }: SentContent, members: string[], service: string): void {
    const { row = 'one', rowAfter = 0, delays } = this.#behaviour;
    const write = (to: readonly string[]) =>
      this.#app.write({
        from: 'me',
        chat: { members: to, service },
        service,
        text,
        ...(delays !== undefined && { delays }),
        ...(error !== undefined && { error }),
        ...(file !== undefined && {
          // The row refers to the file where it was staged.
          attachments: [
            {
              name: file.name,
              mime: MIME_TYPES[extname(file.name)] ?? 'application/octet-stream',
              base64: file.base64,
              columns: { filename: file.path },
            },
          ],
        }),
      });
    this.#app.later(rowAfter, () => {
      if (row === 'ghost') this.#app.ghost(members[0] ?? '');
      if (row === 'elsewhere') write(['+15550008888']);
      if (row === 'one' || row === 'twice') write(members);
      if (row === 'twice') write(members);
    });
  }
}
