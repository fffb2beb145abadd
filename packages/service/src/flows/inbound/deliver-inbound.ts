import type { InboundCode } from '@footbridge/protocol/codes';
import type { AckOutcome, MessageReceivedFrame } from '@footbridge/protocol/frames';
import { maskHandle } from '@footbridge/protocol/mask-handle';
import type { Clock } from '@footbridge/runtime/clock';
import type { Failpoint } from '@footbridge/runtime/failpoints';
import type { Log } from '@footbridge/runtime/log';
import { SerialByKey } from '@footbridge/runtime/serial-by-key';

import type { Attempt, FailedAttempt } from '../../ports/crm/attempt.ts';
import type { Guids } from '../../ports/guids/guids.ts';
import type { Journal, JournalReader } from '../../ports/journal/journal.ts';
import type { LeaseChecks } from '../../ports/switchboard/lease-fence.ts';
import type { Lease } from '../../ports/switchboard/switchboard.ts';
import { composeMessage, kindOf } from './compose-message.ts';
import { ContactBook } from './contact-book.ts';
import type { ContactCalls, InboundCalls } from './crm-calls.ts';
import { idempotencyKey } from './idempotency-key.ts';
import { InboundJob } from './inbound-job.ts';

/** Puts attachments where the CRM shows them best. Never rejects. */
export interface Attachments {
  prepare(message: { locationId: string; contactId: string; urls: readonly string[] }): Promise<Prepared>;
}

export interface Prepared {
  readonly urls: readonly string[];
  /** What the reader should know about the files. */
  readonly notes: readonly string[];
}

export interface InboundDeps extends LeaseChecks {
  readonly guids: Guids;
  readonly calls: InboundCalls;
  readonly contacts: ContactCalls;
  readonly journal: Journal & Pick<JournalReader, 'inboundId'>;
  readonly settings: {
    readonly createContacts: boolean;
    readonly footerOnPlainText: boolean;
    readonly onUncertain: 'retry' | 'park';
  };
  readonly clock: Clock;
  readonly log: Log;
  readonly failpoint: Failpoint | undefined;
  /** Whether another node may still be completing what it began while it held the location. */
  readonly otherNodes: boolean;
  readonly attachments?: Attachments;
  readonly count?: (result: 'delivered' | 'repeated' | 'rejected' | 'retry') => void;
}

/**
 * Delivers messages from the Macs to the CRM: claim, contact, text and footer, post, mark, acknowledge (I1–I7). In order per chat;
 * chats run side by side.
 */
export interface Inbound {
  deliver(lease: Lease, frame: MessageReceivedFrame): Promise<AckOutcome>;
  /** The CRM wrote to this contact at this number: it is preferred when the search finds several. */
  prefer(locationId: string, phone: string, contactId: string): void;
  close(): Promise<void>;
}

interface Posted {
  readonly crmMessageId: string;
  /** A response was lost, so a CRM that ignores the idempotency key may have the message twice. */
  readonly inDoubt: boolean;
}

type ClaimResult =
  | { readonly kind: 'claimed'; readonly isNew: boolean; readonly uncertain: boolean }
  | { readonly kind: 'sent' }
  | { readonly kind: 'cancelled' };

/** How long another node may take: to learn that it lost the lease, plus the timeout of a call. */
const SETTLE_MS = 20_000;
const STORE_RETRY_MS = 1000;
const CLAIM_RETRY_MS = 500;
const MAX_MARK_ATTEMPTS = 4;

export function createInbound(deps: InboundDeps): Inbound {
  return new InboundDeliveries(deps);
}

class InboundDeliveries implements Inbound {
  readonly #deps: InboundDeps;
  readonly #contacts: ContactBook;
  readonly #jobs = new Map<string, { job: InboundJob; done: Promise<AckOutcome> }>();
  readonly #chats = new SerialByKey<InboundJob, AckOutcome>();
  readonly #leaseSince = new WeakMap<Lease, number>();
  #isClosed = false;

  constructor(deps: InboundDeps) {
    this.#deps = deps;
    this.#contacts = new ContactBook(deps.contacts, deps.clock, deps.settings.createContacts);
  }

  deliver(lease: Lease, frame: MessageReceivedFrame): Promise<AckOutcome> {
    if (this.#isClosed) return Promise.resolve('retry');
    if (!this.#leaseSince.has(lease)) this.#leaseSince.set(lease, this.#deps.clock.monotonic());
    const key = `${lease.locationId} ${frame.guid}`;
    const running = this.#jobs.get(key);
    if (running !== undefined) {
      running.job.takeOver(lease);
      return running.done;
    }
    const job = new InboundJob(lease, frame, this.#deps);
    const chat = `${lease.locationId} ${frame.chat.id}`;
    const done = this.#chats.add(chat, job, (before) => this.#run(job, key, before));
    this.#jobs.set(key, { job, done });
    return done;
  }

  prefer(locationId: string, phone: string, contactId: string): void {
    this.#contacts.prefer(locationId, phone, contactId);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const jobs = [...this.#jobs.values()];
    for (const { job } of jobs) job.cancel();
    await Promise.all(jobs.map(({ done }) => done));
  }

  async #run(job: InboundJob, key: string, before: AckOutcome | undefined): Promise<AckOutcome> {
    let ack: AckOutcome = 'retry';
    try {
      // An undelivered message will be resent; later ones in the chat must not overtake it (I5).
      if (before !== 'retry') ack = await this.#deliver(job);
    } catch (error) {
      this.#deps.log.error(
        { event: 'inbound.delivery_error', id: job.id, err: error },
        'inbound message not delivered, unexpected error',
      );
    }
    this.#jobs.delete(key);
    if (ack === 'retry') this.#deps.count?.('retry');
    return ack;
  }

  async #deliver(job: InboundJob): Promise<AckOutcome> {
    const { failpoint, settings, journal } = this.#deps;
    const claim = await this.#claim(job);
    if (claim.kind === 'cancelled') return 'retry';
    if (claim.kind === 'sent' || !claim.isNew) await this.#findJournalEntry(job);
    this.#record(job);
    if (claim.kind === 'sent') return this.#repeated(job);
    if (claim.uncertain) {
      if (settings.onUncertain === 'park')
        return this.#reject(job, 'UNCERTAIN', 'a crash cut its delivery off');
      journal.step(job.id, 'uncertain');
    }
    if (failpoint !== undefined) await failpoint('inbound.afterClaim');
    const posted = await this.#post(job);
    if (posted === 'no_contact')
      return this.#reject(job, 'NO_CONTACT', 'no contact has this sender, and CRM_CREATE_CONTACTS is false');
    if (!posted.ok)
      return posted.kind === 'cancelled' ? 'retry' : this.#reject(job, 'CRM_REFUSED', reasonOf(posted));
    if (failpoint !== undefined) await failpoint('inbound.afterCrmAccept');
    return this.#accepted(job, posted.value);
  }

  /** A message that was here before has a journal entry. */
  async #findJournalEntry(job: InboundJob): Promise<void> {
    try {
      job.id = (await this.#deps.journal.inboundId(job.locationId, job.frame.guid)) ?? job.id;
    } catch (error) {
      this.#deps.log.warn(
        { event: 'inbound.journal_unavailable', id: job.id, err: error },
        'journal entry of an inbound message not found, journal unavailable',
      );
    }
  }

  #record({ id, locationId, frame }: InboundJob): void {
    this.#deps.journal.open(
      {
        id,
        direction: 'inbound',
        locationId,
        messageId: frame.guid,
        kind: kindOf(frame),
        phoneMasked: maskHandle(frame.sender),
        length: frame.text.length,
      },
      'received',
      { detail: { seq: frame.seq } },
    );
  }

  async #claim(job: InboundJob): Promise<ClaimResult> {
    const { guids, clock, otherNodes } = this.#deps;
    const key = { locationId: job.locationId, guid: job.frame.guid };
    while (job.isWanted()) {
      try {
        const claim = await guids.claim(key, job.lease.epoch);
        if (claim.kind !== 'held') return claim;
        // The process that claimed it is gone, or has lost the lease and is completing its call: it has until then.
        const since = this.#leaseSince.get(job.lease) ?? clock.monotonic();
        if (otherNodes && clock.monotonic() < since + SETTLE_MS) await job.pause(CLAIM_RETRY_MS);
        else if (await guids.takeOver(key, job.lease.epoch, claim.owner))
          return { kind: 'claimed', isNew: false, uncertain: true };
      } catch (error) {
        this.#deps.log.warn(
          { event: 'inbound.store_unavailable', id: job.id, err: error },
          'inbound message delayed, store unavailable',
        );
        await job.pause(STORE_RETRY_MS);
      }
    }
    return { kind: 'cancelled' };
  }

  async #post(job: InboundJob): Promise<Attempt<Posted> | 'no_contact'> {
    const { journal, failpoint } = this.#deps;
    const { locationId, frame } = job;
    let refusal: FailedAttempt | undefined;
    let refusedContactId: string | undefined;
    for (;;) {
      const found = await this.#contacts.resolve(locationId, frame.sender, job);
      if (!found.ok) return found;
      if (found.value === undefined) return 'no_contact';
      const { contactId, isCached } = found.value;
      if (!isCached) journal.step(job.id, 'contact_found', { detail: { contactId } });
      if (refusal !== undefined && contactId === refusedContactId) return refusal;
      if (failpoint !== undefined) await failpoint('inbound.beforePost');
      const posted = await this.#postTo(contactId, job);
      // A cached contact may have been deleted: search again before the refusal counts.
      const mayBeDeleted = !posted.ok && posted.kind === 'refused' && [400, 404, 422].includes(posted.status);
      if (!mayBeDeleted || !isCached) return posted;
      refusal = posted;
      refusedContactId = contactId;
      this.#contacts.forget(locationId, frame.sender);
    }
  }

  async #postTo(contactId: string, job: InboundJob): Promise<Attempt<Posted>> {
    const { calls, attachments, settings } = this.#deps;
    const { locationId, frame } = job;
    const { urls, notes }: Prepared =
      attachments === undefined || frame.attachments.length === 0
        ? { urls: frame.attachments, notes: [] }
        : await attachments.prepare({ locationId, contactId, urls: frame.attachments });
    const message = {
      locationId,
      contactId,
      message: composeMessage(frame, settings.footerOnPlainText, notes),
      attachments: urls,
      idempotencyKey: idempotencyKey(locationId, frame.guid),
    };
    let inDoubt = false;
    const posted = await job.retry((guard) => {
      inDoubt ||= guard.previous?.inDoubt === true;
      return calls.post(message, guard);
    });
    return posted.ok ? { ok: true, value: { crmMessageId: posted.value, inDoubt } } : posted;
  }

  async #accepted(job: InboundJob, { crmMessageId, inDoubt }: Posted): Promise<AckOutcome> {
    const { journal, failpoint, count, guids } = this.#deps;
    const key = { locationId: job.locationId, guid: job.frame.guid };
    await this.#mark(job, () => guids.sent(key, crmMessageId));
    if (failpoint !== undefined) await failpoint('inbound.afterMark');
    if (inDoubt) journal.step(job.id, 'uncertain', { detail: { reason: 'an answer was lost' } });
    journal.step(job.id, 'crm_took_it', { state: 'delivered', detail: { crmMessageId } });
    count?.('delivered');
    if (failpoint !== undefined) await failpoint('inbound.beforeAck');
    return { outcome: 'delivered' };
  }

  async #repeated(job: InboundJob): Promise<AckOutcome> {
    const { journal, count, failpoint } = this.#deps;
    journal.step(job.id, 'acknowledged', { state: 'delivered', detail: { repeated: true } });
    count?.('repeated');
    if (failpoint !== undefined) await failpoint('inbound.beforeAck');
    return { outcome: 'delivered' };
  }

  /** The Mac keeps the message, and the operator can have it sent again. */
  async #reject(job: InboundJob, code: InboundCode, reason: string): Promise<AckOutcome> {
    const { guids, journal, log, count } = this.#deps;
    const { locationId, frame } = job;
    await this.#mark(job, () => guids.rejected({ locationId, guid: frame.guid }, false));
    journal.step(job.id, 'parked', { state: 'undeliverable', code, detail: { reason, seq: frame.seq } });
    log.warn(
      { event: 'inbound.parked', id: job.id, locationId, code, reason },
      'inbound message parked, it can be redelivered',
    );
    count?.('rejected');
    return { outcome: 'rejected', reason };
  }

  /** The message is acknowledged even if this fails: then a crash before the acknowledgement would repeat it. */
  async #mark(job: InboundJob, mark: () => Promise<void>): Promise<void> {
    for (let attempts = 1; attempts <= MAX_MARK_ATTEMPTS; attempts++) {
      try {
        return await mark();
      } catch (error) {
        this.#deps.log.error(
          { event: 'inbound.mark_failed', id: job.id, attempts, err: error },
          'inbound message not marked, store unavailable',
        );
        if (attempts < MAX_MARK_ATTEMPTS) await this.#deps.clock.sleep(STORE_RETRY_MS);
      }
    }
  }
}

const reasonOf = ({ status, reason }: FailedAttempt) => `the CRM refused: ${status} ${reason}`.trim();
