import type { Clock } from '../../clock.ts';
import type { LocalFile, Messages } from '../../ports/messages/messages.ts';
import type { Steps } from './steps.ts';

/** What a job may use. */
export interface Tools {
  readonly messages: Messages;
  readonly steps: Steps;
  readonly downloads: Downloads;
  readonly scratch: Scratch;
  readonly clock: Clock;
  readonly settings: JobSettings;
}

export interface JobSettings {
  /** How long a reaction may take to show up in the store (M6). */
  readonly confirmMs: number;
  /** After "not on iMessage", try once by SMS. */
  readonly smsFallback: boolean;
}

export interface DownloadLimits {
  readonly maxBytes: number;
  readonly timeoutMs: number;
}

export type Downloaded =
  | { readonly ok: true; readonly file: LocalFile }
  | {
      readonly ok: false;
      /** `forbidden`: the address is not one that a Mac should fetch. The others are the weather. */
      readonly reason: 'forbidden' | 'failed' | 'too-large' | 'timeout';
      readonly message: string;
    };

/** Fetches a file from the Internet, and from nowhere else. */
export interface Downloads {
  fetch(url: string, folder: string, limits: DownloadLimits): Promise<Downloaded>;
}

/** A folder for the files of one job. */
export interface Scratch {
  folder(): Promise<string>;
  /** Answers with the path. */
  write(name: string, bytes: Uint8Array): Promise<string>;
  read(path: string): Promise<Uint8Array>;
}
