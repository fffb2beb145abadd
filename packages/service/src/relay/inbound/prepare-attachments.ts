import type { Clock } from '@footbridge/runtime/clock';
import { FairSlots } from '@footbridge/runtime/fair-slots';
import type { Log } from '@footbridge/runtime/log';

import { asAssetId } from '../assets/assets.ts';
import type { Assets } from '../assets/assets.ts';
import type { Attempt, SendGuard, SignalSource, RetryPolicy } from '../../platform/retry/retry.ts';
import { Cancellation, retry, backoff } from '../../platform/retry/retry.ts';
import type { AssetIndex, AssetRecord } from '../assets/asset-index-sql.ts';

export interface CrmFile {
  readonly locationId: string;
  readonly contactId: string;
  readonly name: string;
  readonly contentType: string;
  readonly bytes: Buffer;
}

/** The CRM's own storage, whose files it shows as previews. One attempt, which resolves with the URL of the file. */
export interface CrmStorage {
  put(file: CrmFile, guard: SendGuard): Promise<Attempt<string>>;
}

export interface PrepareDeps {
  readonly index: Pick<AssetIndex, 'find' | 'setSender'>;
  readonly assets: Pick<Assets, 'open'>;
  /** Undefined unless CRM_UPLOAD_ATTACHMENTS is true. */
  readonly storage: CrmStorage | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

export interface Message {
  readonly locationId: string;
  readonly contactId: string;
  /** The phone number or email address of the customer. */
  readonly sender: string;
  readonly urls: readonly string[];
  /** Uploads end early when the message is not wanted any more. */
  readonly job: { isWanted(): boolean; readonly cancellation: SignalSource };
}

/** Files in memory on their way to the CRM. Each file counts twice: as a file and in the body of its call. */
export const HANDOVERS = { slots: 8, maxBytes: 5_000_000 } as const;
const MAX_UPLOAD_ATTEMPTS = 2;
/** Ends an upload that cannot be sent, for example for lack of a token: unsent attempts do not count towards the maximum. */
const MAX_UPLOAD_MS = 30_000;
const OUR_URL = /\/assets\/([\w-]{32})\/[^/?#]*$/;

/** Returns the URLs to send with a message (ours, or the CRM's for files that it stores) and the notes on our files (I8). */
export function createPrepareAttachments({ index, assets, storage, clock, log }: PrepareDeps) {
  const slots = new FairSlots(HANDOVERS.slots, clock);

  async function handOver(
    record: AssetRecord,
    { locationId, contactId, job }: Message,
  ): Promise<string | undefined> {
    const id = asAssetId(record.id);
    if (storage === undefined || id === undefined || record.size > HANDOVERS.maxBytes) return undefined;
    const release = await new Promise<() => void>((resolve) => slots.enter(locationId, resolve));
    const deadline = new Cancellation();
    const stopTimer = clock.after(MAX_UPLOAD_MS, () => deadline.cancel());
    try {
      const stream = job.isWanted() ? await assets.open(id) : undefined;
      if (stream === undefined) return undefined;
      const { name, contentType } = record;
      const bytes = Buffer.concat(await stream.toArray());
      const file = { locationId, contactId, name, contentType, bytes };
      // The retry policy is not asked during the wait for the rate limit, so the deadline ends that.
      const cancellation = { signal: AbortSignal.any([job.cancellation.signal, deadline.signal]) };
      const result = await retry({
        attempt: (previous) => storage.put(file, { previous, cancellation }),
        policy: uploadPolicy,
        clock,
        isWanted: () => job.isWanted(),
        cancellation,
      });
      return result.ok ? result.value : undefined;
    } finally {
      stopTimer();
      release();
    }
  }

  async function prepareOne(
    url: string,
    message: Message,
  ): Promise<{ url: string; note: string | undefined }> {
    const [, id] = OUR_URL.exec(url) ?? [];
    try {
      const record = id === undefined ? undefined : await index.find(id);
      if (record === undefined || record.locationId !== message.locationId) return { url, note: undefined };
      await index.setSender(record.id, message.sender);
      const note = record.note === null ? undefined : `${record.name}: ${record.note}`;
      return { url: (await handOver(record, message)) ?? url, note };
    } catch (error) {
      // A file must not block its message: our own URL works too.
      log.warn(
        { event: 'asset.handover_failed', locationId: message.locationId, err: error },
        'attachment not uploaded to the CRM; URL of the service sent',
      );
      return { url, note: undefined };
    }
  }

  return {
    /** Whether the CRM gets copies of our files, under URLs that differ between attempts. */
    handsOver: storage !== undefined,
    async prepare(message: Message): Promise<{ urls: string[]; notes: string[] }> {
      const prepared = await Promise.all(message.urls.map((url) => prepareOne(url, message)));
      return {
        urls: prepared.map(({ url }) => url),
        notes: prepared.flatMap(({ note }) => (note === undefined ? [] : [note])),
      };
    },
  };
}

/** After two attempts, half a minute, or without a token for the location, our own URL is sent. */
const uploadPolicy: RetryPolicy = (failure, progress) => {
  if (failure.kind === 'none' || failure.kind === 'reauth_required') return undefined;
  const isExhausted = progress.attempts >= MAX_UPLOAD_ATTEMPTS && failure.kind !== 'token_expired';
  const delayMs = isExhausted ? undefined : backoff(failure, progress);
  return delayMs !== undefined && progress.elapsedMs + delayMs <= MAX_UPLOAD_MS ? delayMs : undefined;
};
