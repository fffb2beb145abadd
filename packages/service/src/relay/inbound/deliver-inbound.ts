import type { InboundCode } from '@footbridge/protocol/codes';
import type { AckOutcome, MessageReceivedFrame } from '@footbridge/protocol/frames';
import type { Clock } from '@footbridge/runtime/clock';
import type { Failpoint } from '@footbridge/runtime/failpoints';
import type { Log } from '@footbridge/runtime/log';
import { SerialByKey } from '@footbridge/runtime/serial-by-key';
import { TransientMap } from '@footbridge/runtime/transient-map';

import type { Attempt, FailedAttempt } from '../../platform/retry/retry.ts';
import type { ClaimedGuid, GuidClaim, Guids } from './guids-sql.ts';
import type { Phones } from '../people/handles.ts';
import type { Texts } from '../journal/texts.ts';
import type { Slot } from '../../platform/extension-points.ts';
import type { Journal } from '../journal/journal-sql.ts';
import { SET_ASIDE } from '../../platform/suspects/suspects.ts';
import type { Suspects } from '../../platform/suspects/suspects-sql.ts';
import { LeaseAges } from '../switchboard/lease-fence.ts';
import type { LeaseChecks } from '../switchboard/lease-fence.ts';
import type { Lease } from '../switchboard/switchboard.ts';
import { composeMessage, kindOf, idempotencyKey } from './compose-message.ts';
import { ContactBook } from './contact-book.ts';
import type { ConversationCalls } from './conversation-calls.ts';
import type { InboundCalls, InboundMessage } from './inbound-calls.ts';
import type { ContactCalls } from '../crm/contact-calls.ts';
import { InboundJob, writePolicy } from './inbound-job.ts';
import { LostAttempts } from './read-after-loss.ts';
import { LostMessages } from './lost-messages.ts';
import type { LookUpResult } from './lost-messages.ts';
import { isSameText } from './match-message.ts';
import type { LostMessage } from './match-message.ts';
import type { ReadDelays } from './read-after-loss.ts';

/** Puts attachments where the CRM shows them best. Never rejects. */
export interface Attachments {
  /** Whether the CRM gets copies, under URLs that differ between attempts. */
  readonly handsOver: boolean;
  prepare(message: {
    locationId: string;
    contactId: string;
    sender: string;
    urls: readonly string[];
    /** Uploads end early when the job is cancelled or has lost its lease. */
    job: Pick<InboundJob, 'isWanted' | 'cancellation'>;
  }): Promise<Prepared>;
}

export interface Prepared {
  readonly urls: readonly string[];
  /** Notes on the files for the recipient. */
  readonly notes: readonly string[];
}

export interface InboundDeps extends LeaseChecks {
  readonly guids: Pick<Guids, 'claim' | 'takeOver' | 'sent' | 'rejected' | 'released' | 'recordedForOthers'>;
  readonly suspects: Pick<Suspects, 'handle' | 'workOn' | 'setAside'>;
  readonly calls: InboundCalls;
  readonly contacts: ContactCalls;
  readonly conversations: ConversationCalls;
  readonly journal: Pick<Journal, 'open' | 'step' | 'codeOf' | 'requestsOf'>;
  readonly settings: ReadDelays & {
    readonly createContacts: boolean;
    readonly footerOnPlainText: boolean;
    readonly onUncertain: 'retry' | 'park';
    /** Whether messages that the owner of a Mac typed are added to the CRM. */
    readonly mirrorSent: boolean;
  };
  readonly clock: Clock;
  readonly log: Log;
  readonly failpoint: Failpoint | undefined;
  /** Whether another node may still be completing calls that it began while it held the location. */
  readonly otherNodes: boolean;
  readonly attachments?: Attachments;
  readonly texts?: Slot<Pick<Texts, 'take'>>;
  /** Returns the sender as it is recorded: a number in E.164, even if the Mac reports it without its country code; others unchanged. */
  readonly phones: Pick<Phones, 'recorded'>;
  readonly count?: (result: 'delivered' | 'repeated' | 'rejected' | 'retry') => void;
  readonly countLookUp?: (result: LookUpResult['kind']) => void;
}

/**
 * Delivers messages from the Macs to the CRM: claim, contact, text and footer, post, mark, acknowledge (I1–I7). After a lost response the
 * CRM is read before anything is posted again (I9). In order per chat; chats run side by side.
 */
export interface Inbound {
  /** The age of the oldest unacknowledged message; 0 when there is none. */
  readonly oldestSec: number;
  deliver(lease: Lease, frame: MessageReceivedFrame): Promise<AckOutcome>;
  /** The contacts that this node has in memory. */
  readonly contacts: ContactBook;
  close(): Promise<void>;
}

/** How long another node may take to learn that it lost the lease, plus the timeout of a call. */
const SETTLE_MS = 20_000;
/** How far the clocks of two nodes may differ, or how far one clock may be set back between two processes. */
const MAX_CLOCK_STEP_MS = 300_000;
const STORE_RETRY_MS = 1000;
const CLAIM_RETRY_MS = 500;
const MAX_MARK_ATTEMPTS = 4;
/** A CRM that responds with 2xx and no message id stores nothing. A message is posted to it at most this often. */
const MAX_EMPTY_RESPONSES = 8;
/** The code of a message that may be missing from the CRM, or be there twice. */
const UNCERTAIN: InboundCode = 'UNCERTAIN';

export function createInbound(deps: InboundDeps): Inbound {
  return new InboundDeliveries(deps);
}

class InboundDeliveries implements Inbound {
  readonly #deps: InboundDeps;
  readonly contacts: ContactBook;
  readonly #lost: LostMessages;
  readonly #jobs = new TransientMap<string, { job: InboundJob; done: Promise<AckOutcome> }>();
  readonly #chats = new SerialByKey<InboundJob, AckOutcome>();
  #posts = 0;
  readonly #leases: LeaseAges;
  #isClosed = false;

  constructor(deps: InboundDeps) {
    this.#deps = deps;
    const { contacts, conversations, guids, clock, settings } = deps;
    this.contacts = new ContactBook(contacts, clock, settings.createContacts, settings);
    this.#leases = new LeaseAges(clock);
    this.#lost = new LostMessages({ contacts, conversations, guids, clock, ...settings });
  }

  get oldestSec(): number {
    const [oldest] = this.#jobs.values();
    return oldest === undefined ? 0 : (this.#deps.clock.monotonic() - oldest.job.startedAt) / 1000;
  }

  deliver(lease: Lease, frame: MessageReceivedFrame): Promise<AckOutcome> {
    if (this.#isClosed) return Promise.resolve('retry');
    if (frame.fromMe === true && !this.#deps.settings.mirrorSent)
      return Promise.resolve({ outcome: 'skipped' });
    this.#leases.used(lease);
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
      job.isInDoubt = true;
      this.#deps.log.error(
        { event: 'inbound.delivery_error', id: job.id, err: error },
        'inbound delivery failed unexpectedly',
      );
    }
    if (ack === 'retry') await this.#release(job);
    this.#jobs.delete(key);
    return ack;
  }

  async #deliver(job: InboundJob): Promise<AckOutcome> {
    const { failpoint, suspects } = this.#deps;
    const claim = await this.#claim(job);
    if (claim === undefined) return 'retry';
    if (claim.entryId !== job.id) await this.#continueEntry(job, claim);
    // A mirrored message is recorded once a contact is found: what the owner writes to others is private.
    if (claim.kind === 'sent' || directionOf(job.frame) === 'inbound') this.#record(job);
    if (claim.kind === 'sent') return this.#repeated(job);
    job.isClaimed = true;
    job.isInDoubt = claim.uncertain;
    if (failpoint !== undefined) await failpoint('inbound.afterClaim');
    const ack =
      job.frame.setAside === true
        ? await this.#setAside(job)
        : await suspects.handle(
            job.name,
            () => this.#deliverClaimed(job, claim),
            (outcome) => outcome !== 'retry',
          );
    return ack === SET_ASIDE
      ? this.#reject(job, 'SET_ASIDE', 'the service or the agent ended twice while it worked on this message')
      : ack;
  }

  /** The agent ended twice while it read this message. The frame replaces the message and has no content. */
  async #setAside({ name }: InboundJob): Promise<typeof SET_ASIDE> {
    await this.#deps.suspects.setAside(name);
    return SET_ASIDE;
  }

  async #deliverClaimed(job: InboundJob, claim: ClaimedGuid): Promise<AckOutcome> {
    const lostAttempts = new LostAttempts(this.#deps.clock);
    let emptyResponses = 0;
    let waitMs: number | undefined = 0;
    for (;;) {
      if (job.isInDoubt) {
        const looked = await this.#lookUp(job, claim, waitMs);
        if (!looked.ok) return 'retry';
        const finding = looked.value;
        if (finding.kind === 'found') {
          job.isUncertain = false;
          return this.#accepted(job, finding.crmMessageId);
        }
        if (finding.kind === 'unknown' && this.#parks(claim))
          return this.#reject(job, UNCERTAIN, finding.reason);
        job.isUncertain = finding.kind === 'unknown';
      }
      const posted = await this.#post(job);
      if (posted === 'no_contact' && directionOf(job.frame) === 'outbound') return this.#skip(job);
      if (posted === 'no_contact')
        return this.#reject(
          job,
          'NO_CONTACT',
          'no contact has this sender, and CRM_CREATE_CONTACTS is false',
        );
      if (posted.ok) return this.#accepted(job, posted.value);
      if (posted.kind === 'cancelled') return 'retry';
      if (posted.kind === 'empty') emptyResponses++;
      waitMs = posted.inDoubt === true ? lostAttempts.waitAfter(posted) : undefined;
      if (waitMs === undefined || emptyResponses === MAX_EMPTY_RESPONSES)
        return this.#reject(job, 'CRM_REFUSED', reasonOf(posted));
    }
  }

  /** Whether an uncertain message is parked. A redelivered message is not: the operator has decided. */
  #parks({ isRedelivery }: ClaimedGuid): boolean {
    return this.#deps.settings.onUncertain === 'park' && !isRedelivery;
  }

  /** Continues the journal entry of a message that was received before. */
  async #continueEntry(job: InboundJob, { kind, entryId }: GuidClaim): Promise<void> {
    const { journal, log } = this.#deps;
    const { locationId, frame } = job;
    try {
      const message = { direction: 'inbound', locationId, messageId: frame.guid } as const;
      const id = entryId ?? (await journal.requestsOf(message)).at(-1)?.id;
      if (id === undefined) return;
      if (kind === 'sent') {
        // The next step replaces the code, so an entry whose code is not known is not continued.
        const code = await journal.codeOf(id);
        if (code === undefined) return;
        job.isUncertain = code === UNCERTAIN;
      }
      job.id = id;
    } catch (error) {
      log.warn(
        { event: 'inbound.journal_unavailable', id: job.id, err: error },
        'journal unavailable; entry of an inbound message not read',
      );
    }
  }

  #record(job: InboundJob): void {
    if (job.isRecorded) return;
    job.isRecorded = true;
    const { id, locationId, frame } = job;
    this.#deps.texts?.value.take(locationId, id, frame.text);
    this.#deps.journal.open(
      {
        id,
        direction: 'inbound',
        locationId,
        messageId: frame.guid,
        kind: kindOf(frame),
        handle: this.#deps.phones.recorded(frame.sender),
        contactId: null,
        length: frame.text.length,
      },
      'received',
      { detail: { seq: frame.seq, ...(frame.fromMe === true && { fromMe: true }) } },
    );
  }

  /** Resolves with undefined when the job is cancelled. */
  async #claim(job: InboundJob): Promise<Exclude<GuidClaim, { kind: 'held' }> | undefined> {
    const { guids, otherNodes } = this.#deps;
    const key = keyOf(job);
    while (job.isWanted()) {
      const claim = await job.store(() => guids.claim(key, job.id));
      if (!claim.ok) return undefined;
      if (claim.value.kind !== 'held') return claim.value;
      const { owner, claimedAt, entryId } = claim.value;
      // The process that claimed it is gone, or has lost the lease and is completing its call: it has until then.
      if (otherNodes && this.#leases.ageMs(job.lease) < SETTLE_MS) {
        await job.pause(CLAIM_RETRY_MS);
        continue;
      }
      const taken = await job.store(() => guids.takeOver(key, owner));
      if (taken.ok && taken.value)
        return { kind: 'claimed', uncertain: true, isRedelivery: false, claimedAt, entryId };
    }
    return undefined;
  }

  /** Finds out whether the CRM has a message whose response was lost. The only failure is a cancellation. */
  async #lookUp(job: InboundJob, claim: ClaimedGuid, waitMs: number): Promise<Attempt<LookUpResult>> {
    const { journal, log, settings, countLookUp } = this.#deps;
    const lost = this.#lostMessage(job, claim);
    const looking = this.#lost.find(lost, job, waitMs, () => this.#othersRecorded(job, lost));
    job.lookUp = { text: lost.text, done: looking };
    const looked = await looking;
    job.lookUp = undefined;
    if (!looked.ok) return looked;
    const { kind } = looked.value;
    countLookUp?.(kind);
    if (kind !== 'unknown') journal.step(job.id, 'looked_up', { detail: { result: kind } });
    else {
      const { reason, scope = null } = looked.value;
      const { onUncertain } = settings;
      journal.step(job.id, 'uncertain', { detail: { reason, scope } });
      log.warn(
        { event: 'inbound.uncertain', id: job.id, locationId: job.locationId, onUncertain, reason, scope },
        'conversation not readable; the CRM may have the inbound message',
      );
    }
    if (kind === 'absent') job.isInDoubt = false;
    return looked;
  }

  #lostMessage({ locationId, frame, posted, startedAt }: InboundJob, claim: ClaimedGuid): LostMessage {
    const { settings, attachments, clock } = this.#deps;
    return {
      locationId,
      guid: frame.guid,
      sender: frame.sender,
      direction: directionOf(frame),
      // Only the monotonic clock of this process knows how long ago that was: the other one may have been set since.
      get claimedAt() {
        return claim.uncertain ? claim.claimedAt : clock.now() - (clock.monotonic() - startedAt);
      },
      maxClockStepMs: claim.uncertain ? MAX_CLOCK_STEP_MS : 0,
      contactId: posted?.contactId,
      text: posted?.message ?? composeMessage(frame, settings.footerOnPlainText),
      attachments: posted?.attachments ?? frame.attachments,
      mayHaveCopies: posted === undefined && attachments?.handsOver === true,
    };
  }

  /**
   * Resolves once no other pending message can match the candidate. Posts of the same text in other chats are then recorded or lost, and
   * messages posted before this one have been looked up. Otherwise this message could take the candidate of an earlier message, which would
   * then be posted again.
   */
  #othersRecorded(job: InboundJob, { text }: LostMessage): Promise<unknown> {
    const others = Array.from(this.#jobs.values(), ({ job: other }) => other).filter(
      (other) => other !== job && other.locationId === job.locationId,
    );
    const posts = others.filter(({ posted }) => posted !== undefined && isSameText(posted.message, text));
    const earlier = others.filter(
      ({ lookUp, postNumber }) =>
        lookUp !== undefined && postNumber < job.postNumber && isSameText(lookUp.text, text),
    );
    return Promise.allSettled([
      ...posts.map(({ posting }) => posting),
      ...earlier.map(({ lookUp }) => lookUp?.done),
    ]);
  }

  async #post(job: InboundJob): Promise<Attempt<string> | 'no_contact'> {
    const { journal, failpoint } = this.#deps;
    const { locationId, frame } = job;
    let rejection: FailedAttempt | undefined;
    let rejectedContactId: string | undefined;
    for (;;) {
      // The owner also texts people who are not customers: such a message creates no contact.
      const mayCreate = directionOf(job.frame) === 'outbound' ? false : undefined;
      const found = await this.contacts.resolve(locationId, frame.sender, job, mayCreate);
      if (!found.ok) return found;
      if (found.value === undefined) return 'no_contact';
      const { contactId, isCached } = found.value;
      this.#record(job);
      if (!isCached) journal.step(job.id, 'contact_found', { detail: { contactId } });
      if (rejection !== undefined && contactId === rejectedContactId) return rejection;
      if (failpoint !== undefined) await failpoint('inbound.beforePost');
      const posted = await this.#postTo(contactId, job);
      // A cached contact may have been deleted: search again before the rejection counts.
      const mayBeDeleted = !posted.ok && posted.kind === 'refused' && [400, 404, 422].includes(posted.status);
      if (!mayBeDeleted || !isCached) return posted;
      rejection = posted;
      rejectedContactId = contactId;
      this.contacts.forget(locationId, frame.sender);
    }
  }

  async #postTo(contactId: string, job: InboundJob): Promise<Attempt<string>> {
    const { attachments, settings, phones } = this.#deps;
    const { locationId, frame } = job;
    job.workOn();
    const { urls, notes }: Prepared =
      attachments === undefined || frame.attachments.length === 0
        ? { urls: frame.attachments, notes: [] }
        : await attachments.prepare({
            locationId,
            contactId,
            sender: phones.recorded(frame.sender),
            urls: frame.attachments,
            job,
          });
    const message = {
      locationId,
      contactId,
      message: composeMessage(frame, settings.footerOnPlainText, notes),
      attachments: urls,
      guid: frame.guid,
      idempotencyKey: idempotencyKey(locationId, frame.guid),
      direction: directionOf(job.frame),
    };
    job.posted = message;
    const posting = this.#postAndMark(message, job);
    job.posting = posting;
    return posting;
  }

  async #postAndMark(message: InboundMessage, job: InboundJob): Promise<Attempt<string>> {
    const { calls, failpoint, guids } = this.#deps;
    const posted = await job.retry(async (guard) => {
      // Of several attempts only the last one can be lost: an earlier one was rejected.
      job.postNumber = ++this.#posts;
      const attempt = await calls.post(message, guard);
      if (!attempt.ok && attempt.inDoubt === true) job.isInDoubt = true;
      return attempt;
    }, writePolicy);
    if (!posted.ok) return posted;
    if (failpoint !== undefined) await failpoint('inbound.afterCrmAccept');
    await this.#mark(job, () => guids.sent(keyOf(job), posted.value));
    if (failpoint !== undefined) await failpoint('inbound.afterMark');
    return posted;
  }

  async #accepted(job: InboundJob, crmMessageId: string): Promise<AckOutcome> {
    const { journal, failpoint, count } = this.#deps;
    journal.step(job.id, 'crm_accepted', {
      state: 'delivered',
      detail: { crmMessageId },
      ...(job.isUncertain && { code: UNCERTAIN }),
      ...(job.posted !== undefined && { contactId: job.posted.contactId }),
    });
    count?.('delivered');
    if (failpoint !== undefined) await failpoint('inbound.beforeAck');
    return { outcome: 'delivered' };
  }

  async #repeated(job: InboundJob): Promise<AckOutcome> {
    const { journal, count, failpoint } = this.#deps;
    journal.step(job.id, 'acknowledged', {
      state: 'delivered',
      detail: { repeated: true },
      ...(job.isUncertain && { code: UNCERTAIN }),
    });
    count?.('repeated');
    if (failpoint !== undefined) await failpoint('inbound.beforeAck');
    return { outcome: 'delivered' };
  }

  /** The owner wrote to someone who is not a contact. */
  async #skip(job: InboundJob): Promise<AckOutcome> {
    await this.#mark(job, () => this.#deps.guids.released(keyOf(job), job.isInDoubt));
    return { outcome: 'skipped' };
  }

  /** The Mac keeps the message, and the operator can request its redelivery. */
  async #reject(job: InboundJob, code: InboundCode, reason: string): Promise<AckOutcome> {
    const { guids, journal, log, count } = this.#deps;
    const { locationId, frame, isInDoubt } = job;
    await this.#mark(job, () => guids.rejected(keyOf(job), isInDoubt));
    journal.step(job.id, 'parked', { state: 'undeliverable', code, detail: { reason, seq: frame.seq } });
    log.warn(
      { event: 'inbound.parked', id: job.id, locationId, code, reason },
      'inbound message parked until it is redelivered',
    );
    count?.('rejected');
    return { outcome: 'rejected', reason };
  }

  /** The Mac sends the message again, to this process or another one. */
  async #release(job: InboundJob): Promise<void> {
    const { guids, count } = this.#deps;
    if (job.isClaimed) await this.#mark(job, () => guids.released(keyOf(job), job.isInDoubt));
    count?.('retry');
  }

  /** The message is acknowledged even if this fails: if the Mac sends it again, its claim is uncertain and the CRM is read first (I9). */
  async #mark(job: InboundJob, mark: () => Promise<void>): Promise<void> {
    for (let attempts = 1; attempts <= MAX_MARK_ATTEMPTS; attempts++) {
      try {
        return await mark();
      } catch (error) {
        this.#deps.log.error(
          { event: 'inbound.mark_failed', id: job.id, attempts, err: error },
          'inbound message not marked as sent',
        );
        if (attempts < MAX_MARK_ATTEMPTS) await this.#deps.clock.sleep(STORE_RETRY_MS);
      }
    }
  }
}

const directionOf = ({ fromMe }: MessageReceivedFrame): InboundMessage['direction'] =>
  fromMe === true ? 'outbound' : 'inbound';

const keyOf = ({ locationId, frame }: InboundJob) => ({ locationId, guid: frame.guid });

const reasonOf = ({ status, reason }: FailedAttempt) => `the CRM refused: ${status} ${reason}`.trim();
