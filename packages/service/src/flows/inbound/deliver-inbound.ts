import type { InboundCode } from '@footbridge/protocol/codes';
import type { AckOutcome, MessageReceivedFrame } from '@footbridge/protocol/frames';

import { sleep } from '../../clock.ts';
import type { Clock } from '../../clock.ts';
import type { Failpoint } from '../../failpoint.ts';
import type { Logger } from '../../log.ts';
import type { Guids } from '../../ports/guids/guids.ts';
import type { Journal, JournalReader } from '../../ports/journal/journal.ts';
import type { Lease } from '../../ports/switchboard/switchboard.ts';
import { composeMessage, kindOf } from './compose-message.ts';
import { ContactBook } from './contact-book.ts';
import type { ContactCalls, InboundCalls, NotDone, Posted } from './crm-calls.ts';
import { idempotencyKey } from './idempotency-key.ts';
import { InboundJob } from './inbound-job.ts';
import { maskHandle } from './mask-handle.ts';

/** Puts attachments where the CRM shows them best. Always answers. */
export interface Attachments {
  /** The addresses to send, and what the reader should know about the files behind them. */
  prepare(what: { locationId: string; contactId: string; urls: readonly string[] }): Promise<Prepared>;
}

export interface Prepared {
  readonly urls: readonly string[];
  readonly notes: readonly string[];
}

export interface InboundDeps {
  readonly guids: Guids;
  readonly calls: InboundCalls;
  readonly contacts: ContactCalls;
  readonly journal: Journal & Pick<JournalReader, 'inboundId'>;
  readonly isCurrent: (lease: Lease) => boolean;
  /** Asks for certain whether a lease is the newest; undefined on a node that is alone. */
  readonly confirm?: (lease: Lease) => Promise<boolean>;
  readonly settings: {
    readonly createContacts: boolean;
    readonly footerOnPlainText: boolean;
    readonly onUncertain: 'retry' | 'park';
  };
  readonly clock: Clock;
  readonly log: Logger;
  readonly failpoint: Failpoint | undefined;
  /** Whether another node may still be finishing what it began while it held the location. */
  readonly otherNodes: boolean;
  readonly attachments?: Attachments;
  readonly count?: (result: 'delivered' | 'repeated' | 'rejected' | 'retry') => void;
}

/**
 * What people wrote to the Macs, brought to the CRM: claim, contact, text and footer, post, mark, acknowledge (I1–I7).
 * Per chat in order, chats side by side.
 */
export interface Inbound {
  deliver(lease: Lease, frame: MessageReceivedFrame): Promise<AckOutcome>;
  /** The CRM wrote to this contact at this number: replies from there are its. */
  learn(locationId: string, phone: string, contactId: string): void;
  close(): Promise<void>;
}

type Claimed =
  | { readonly kind: 'claimed'; readonly isNew: boolean; readonly uncertain: boolean }
  | { readonly kind: 'sent' }
  | { readonly kind: 'unwanted' };

/** How long it may: the time in which it learns of its loss, and the timeout of a call. */
const SETTLE_MS = 20_000;
const STORE_AGAIN_MS = 1000;
const HELD_AGAIN_MS = 500;
const MARK_TRIES = 4;

export function createInbound(deps: InboundDeps): Inbound {
  return new Deliveries(deps);
}

class Deliveries implements Inbound {
  readonly #deps: InboundDeps;
  readonly #book: ContactBook;
  readonly #jobs = new Map<string, { job: InboundJob; done: Promise<AckOutcome> }>();
  /** The newest job of each chat that has one. */
  readonly #chats = new Map<string, Promise<AckOutcome>>();
  readonly #leaseSince = new WeakMap<Lease, number>();
  #closed = false;

  constructor(deps: InboundDeps) {
    this.#deps = deps;
    this.#book = new ContactBook(deps.contacts, deps.clock, deps.settings.createContacts);
  }

  deliver(lease: Lease, frame: MessageReceivedFrame): Promise<AckOutcome> {
    if (this.#closed) return Promise.resolve('retry');
    if (!this.#leaseSince.has(lease)) this.#leaseSince.set(lease, this.#deps.clock.monotonic());
    const key = `${lease.locationId} ${frame.guid}`;
    const under = this.#jobs.get(key);
    if (under !== undefined) {
      under.job.speakFor(lease);
      return under.done;
    }
    const job = new InboundJob(lease, frame, this.#deps);
    const chat = `${lease.locationId} ${frame.chat.id}`;
    const done = this.#inTurn(job, key, chat, this.#chats.get(chat));
    this.#jobs.set(key, { job, done });
    this.#chats.set(chat, done);
    return done;
  }

  learn(locationId: string, phone: string, contactId: string): void {
    this.#book.learn(locationId, phone, contactId);
  }

  async close(): Promise<void> {
    this.#closed = true;
    const jobs = [...this.#jobs.values()];
    for (const { job } of jobs) job.giveUp();
    await Promise.all(jobs.map(({ done }) => done));
  }

  async #inTurn(
    job: InboundJob,
    key: string,
    chat: string,
    before: Promise<AckOutcome> | undefined,
  ): Promise<AckOutcome> {
    let ack: AckOutcome = 'retry';
    try {
      // What was not brought comes again, and nothing behind it may be there first (I5).
      if ((await before) !== 'retry') ack = await this.#bring(job);
    } catch (error) {
      this.#deps.log.error({ id: job.id, err: error }, 'an inbound message could not be brought to the CRM');
    }
    const mine = this.#jobs.get(key)?.done;
    this.#jobs.delete(key);
    if (this.#chats.get(chat) === mine) this.#chats.delete(chat);
    if (ack === 'retry') this.#deps.count?.('retry');
    return ack;
  }

  async #bring(job: InboundJob): Promise<AckOutcome> {
    const { failpoint, settings, journal } = this.#deps;
    const claim = await this.#claim(job);
    if (claim.kind === 'unwanted') return 'retry';
    if (claim.kind === 'sent' || !claim.isNew) await this.#recognise(job);
    this.#record(job);
    if (claim.kind === 'sent') return this.#repeated(job);
    if (claim.uncertain) {
      if (settings.onUncertain === 'park')
        return this.#reject(job, 'UNCERTAIN', 'a crash cut its delivery off');
      journal.step(job.id, 'uncertain');
    }
    if (failpoint !== undefined) await failpoint('inbound.afterClaim');
    const posted = await this.#post(job);
    if (typeof posted === 'string') return this.#reject(job, 'NO_CONTACT', posted);
    if (posted.kind === 'unwanted') return 'retry';
    if (posted.kind !== 'posted') return this.#reject(job, 'CRM_REFUSED', reasonOf(posted));
    if (failpoint !== undefined) await failpoint('inbound.afterCrmAccept');
    return this.#done(job, posted.crmMessageId, posted.inDoubt);
  }

  /** It was here before, so it has an entry in the journal already. */
  async #recognise(job: InboundJob): Promise<void> {
    try {
      job.id = (await this.#deps.journal.inboundId(job.locationId, job.frame.guid)) ?? job.id;
    } catch (error) {
      this.#deps.log.warn(
        { id: job.id, err: error },
        'the journal could not be asked about an inbound message',
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

  async #claim(job: InboundJob): Promise<Claimed> {
    const { guids, clock, otherNodes } = this.#deps;
    const key = { locationId: job.locationId, guid: job.frame.guid };
    while (job.wanted()) {
      try {
        const claim = await guids.claim(key, job.lease.epoch);
        if (claim.kind !== 'held') return claim;
        // The process that began it is gone, or fenced off and about to finish: it has until then.
        const since = this.#leaseSince.get(job.lease) ?? clock.monotonic();
        if (otherNodes && clock.monotonic() < since + SETTLE_MS) await this.#pause(job, HELD_AGAIN_MS);
        else if (await guids.takeOver(key, job.lease.epoch, claim.owner))
          return { kind: 'claimed', isNew: false, uncertain: true };
      } catch (error) {
        this.#deps.log.warn({ id: job.id, err: error }, 'an inbound message waits for the store');
        await this.#pause(job, STORE_AGAIN_MS);
      }
    }
    return { kind: 'unwanted' };
  }

  #pause(job: InboundJob, ms: number): Promise<void> {
    const stop = new AbortController();
    job.waiting(() => stop.abort());
    return sleep(this.#deps.clock, ms, stop.signal);
  }

  /** Answers with a reason when there is nobody in the CRM whom the message could belong to. */
  async #post(job: InboundJob): Promise<Posted | string> {
    const { journal, failpoint } = this.#deps;
    const { locationId, frame } = job;
    let refusal: Posted | undefined;
    let refusedFor: string | undefined;
    for (;;) {
      const contact = await this.#book.resolve(locationId, frame.sender, job);
      if (contact.kind === 'none') return 'no contact has this sender, and CRM_CREATE_CONTACTS is false';
      if (contact.kind !== 'known' && contact.kind !== 'found') return contact;
      const { contactId } = contact;
      if (contact.kind === 'found') journal.step(job.id, 'contact_found', { detail: { contactId } });
      if (refusal !== undefined && contactId === refusedFor) return refusal;
      if (failpoint !== undefined) await failpoint('inbound.beforePost');
      const posted = await this.#postTo(contactId, job);
      // A contact we remembered may be gone by now: look once more before the CRM's no is final.
      const mayBeGone = posted.kind === 'refused' && [400, 404, 422].includes(posted.status);
      if (!mayBeGone || contact.kind === 'found') return posted;
      refusal = posted;
      refusedFor = contactId;
      this.#book.forget(locationId, frame.sender);
    }
  }

  async #postTo(contactId: string, job: InboundJob): Promise<Posted> {
    const { calls, attachments, settings } = this.#deps;
    const { locationId, frame } = job;
    const { urls, notes }: Prepared =
      attachments === undefined || frame.attachments.length === 0
        ? { urls: frame.attachments, notes: [] }
        : await attachments.prepare({ locationId, contactId, urls: frame.attachments });
    return calls.post(
      {
        locationId,
        contactId,
        message: composeMessage(frame, settings.footerOnPlainText, notes),
        attachments: urls,
        idempotencyKey: idempotencyKey(locationId, frame.guid),
      },
      job,
    );
  }

  async #done(job: InboundJob, crmMessageId: string, inDoubt: boolean): Promise<AckOutcome> {
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

  /** The Mac keeps it and the operator can have it sent again. */
  async #reject(job: InboundJob, code: InboundCode, reason: string): Promise<AckOutcome> {
    const { guids, journal, log, count } = this.#deps;
    const { locationId, frame } = job;
    await this.#mark(job, () => guids.rejected({ locationId, guid: frame.guid }));
    journal.step(job.id, 'parked', { state: 'undeliverable', code, detail: { reason, seq: frame.seq } });
    log.warn(
      { id: job.id, locationId, code, reason },
      'an inbound message was not delivered; it can be sent again',
    );
    count?.('rejected');
    return { outcome: 'rejected', reason };
  }

  /** The CRM's answer stands, marked or not: without a mark a crash before the Mac hears of it would repeat the message. */
  async #mark(job: InboundJob, mark: () => Promise<void>): Promise<void> {
    for (let tries = 1; tries <= MARK_TRIES; tries++) {
      try {
        return await mark();
      } catch (error) {
        this.#deps.log.error({ id: job.id, tries, err: error }, 'an inbound message could not be marked');
        if (tries < MARK_TRIES) await sleep(this.#deps.clock, STORE_AGAIN_MS);
      }
    }
  }
}

const reasonOf = (outcome: Exclude<NotDone, { kind: 'unwanted' }>) => {
  const { status, reason } = outcome.kind === 'refused' ? outcome : outcome.setback;
  return `the CRM refused: ${status} ${reason}`.trim();
};
