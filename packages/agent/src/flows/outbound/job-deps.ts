import type { Clock } from '@footbridge/runtime/clock';

import type { LocalFile, Messages } from '../../ports/messages/messages.ts';
import type { Pacing } from './pacing.ts';
import type { Steps } from './steps.ts';

/** The dependencies of one job. */
export interface JobDeps {
  readonly messages: Messages;
  readonly steps: Steps;
  readonly downloads: Downloads;
  readonly scratch: Scratch;
  readonly images: Images;
  readonly clock: Clock;
  readonly pacing: Pacing;
  readonly settings: JobSettings;
  /** Call after each wait: names this job as the one to blame if the process ends (I10). */
  readonly workOn: () => void;
}

export interface JobSettings {
  /** How long to wait for a reaction to appear in the store (M6). */
  readonly confirmMs: number;
  /** `auto`: iMessage, or SMS for a number that is certainly not on iMessage. `path`: the channel of the request (W1). */
  readonly channel: 'auto' | 'path';
}

export interface DownloadLimits {
  readonly maxBytes: number;
  readonly timeoutMs: number;
}

export type DownloadResult =
  | { readonly ok: true; readonly file: LocalFile }
  | {
      readonly ok: false;
      /** `forbidden`: the URL must not be fetched (T13). */
      readonly reason: 'forbidden' | 'failed' | 'too-large' | 'timeout';
      readonly message: string;
    };

/** Downloads files from public addresses only. */
export interface Downloads {
  /** Resolves with the file in a new subfolder of `folder`. Never rejects because of the remote side. */
  fetch(url: string, folder: string, limits: DownloadLimits): Promise<DownloadResult>;
}

/** Decodes images outside this process: a small file can inflate to gigabytes (T58). */
export interface Images {
  /** Writes the pixels of a PNG to a new PNG, or resolves with the reason why it cannot. */
  rewritePng(
    png: Uint8Array,
    path: string,
  ): Promise<{ readonly ok: true } | { readonly ok: false; readonly reason: string }>;
}

/** A temporary folder for the files of one job. */
export interface Scratch {
  folder(): Promise<string>;
  /** Writes a file and resolves with its path. */
  write(name: string, bytes: Uint8Array): Promise<string>;
  read(path: string): Promise<Uint8Array>;
}
