import { randomUUID } from 'node:crypto';
import { extname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Remote } from '../control.ts';
import type { MessagesOperations } from '../macos/operations.ts';

export interface Recipients {
  readonly members: readonly string[];
  readonly service: string;
}

/** A command of the server, as Messages carries it out. */
export interface Command {
  readonly to: Recipients;
  readonly text?: string;
  readonly file?: { readonly name: string; readonly base64: string };
  readonly effectId?: string;
  readonly replyTo?: string;
  readonly isVoice?: boolean;
  readonly tapback?: { readonly code: number; readonly target: string; readonly part: number };
}

export interface Timing {
  readonly rowMs: number;
  readonly sentMs: number;
  readonly error: number;
}

const MIME_TYPES: Readonly<Record<string, string>> = {
  '.txt': 'text/plain',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.caf': 'audio/x-caf',
  '.m4a': 'audio/mp4',
};

/** The library inside Messages that carries out the commands of the server. */
export class MessagesHelper {
  readonly #messages: Remote<MessagesOperations>;
  /** By GUID. */
  readonly #pending = new Map<string, Promise<void>>();

  constructor(messages: Remote<MessagesOperations>) {
    this.#messages = messages;
  }

  /** Hands the command to Messages and returns the GUID of the row that Messages will write. */
  perform(command: Command, timing: Timing): string {
    const guid = randomUUID().toUpperCase();
    const written = this.#write(command, guid, timing).finally(() => this.#pending.delete(guid));
    this.#pending.set(guid, written);
    return guid;
  }

  /** Resolves when the row is written, or cannot be. */
  async written(guid: string): Promise<void> {
    await this.#pending.get(guid)?.catch(() => undefined);
  }

  /** Resolves when every row is written. */
  async settled(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending.values());
  }

  async #write(command: Command, guid: string, { rowMs, sentMs, error }: Timing): Promise<void> {
    const { to, text, file, effectId, replyTo, isVoice, tapback } = command;
    await sleep(rowMs);
    await this.#messages.write({
      from: 'me',
      guid,
      chat: to,
      service: to.service,
      text: text ?? '',
      error,
      delays: { sent: sentMs },
      columns: {
        ...(effectId !== undefined && { expressive_send_style_id: effectId }),
        ...(replyTo !== undefined && { thread_originator_guid: replyTo, thread_originator_part: '0:0:0' }),
        ...(isVoice === true && { is_audio_message: 1 }),
        ...(tapback !== undefined && {
          associated_message_guid: `p:${tapback.part}/${tapback.target}`,
          associated_message_type: tapback.code,
        }),
      },
      ...(file !== undefined && {
        attachments: [{ ...file, mime: MIME_TYPES[extname(file.name)] ?? 'application/octet-stream' }],
      }),
    });
  }
}
