import { randomUUID } from 'node:crypto';

import { CLOSE } from '@footbridge/protocol/close-codes';
import type { CloseCode } from '@footbridge/protocol/close-codes';
import { CAPABILITY, MAX_FRAME_BYTES, writeFrame } from '@footbridge/protocol/frames';
import type {
  AckOutcome,
  MessageReceivedFrame,
  MessageStatusFrame,
  ReachRequestFrame,
  ReachResultFrame,
  RegisterFrame,
  SendFrame,
  ServiceFrame,
  StateFrame,
} from '@footbridge/protocol/frames';
import { asLocationId } from '@footbridge/protocol/ids';
import type { LocationId } from '@footbridge/protocol/ids';
import type { Clock } from '@footbridge/runtime/clock';
import type { Log } from '@footbridge/runtime/log';

import type { DeviceAuth, DeviceIdentity } from '../accounts/authenticate-device.ts';
import type { LocationClaims } from '../accounts/claim-location.ts';
import type { LastSeen } from '../accounts/last-seen.ts';
import type { Inbound } from '../inbound/deliver-inbound.ts';
import type { Journal } from '../journal/journal-sql.ts';
import type { StatusReports } from '../status/report-statuses.ts';
import type { LedgerEntry, SendLedger } from '../switchboard/send-ledger.ts';
import type {
  DisconnectReason,
  Lease,
  MacConnection,
  RoutedFrame,
  StateReport,
  Switchboard,
} from '../switchboard/switchboard.ts';
import type { RepeatTarget } from './unconfirmed-sends.ts';
import {
  BIND_FAILED,
  BY_STATUS,
  MUST_RESEND,
  NOT_ADMITTED,
  NOT_READING,
  NOT_REGISTERED,
  ON_DISCONNECT,
} from './close-reasons.ts';
import type { CloseReason } from './close-reasons.ts';
import { ExtraFrames, readMacFrame, ReceiveWindow, WINDOW } from './receive-window.ts';
import type { FrameMemory } from './receive-window.ts';
import type { Beating, Confirming, Reader, SilentMacs } from './watch-macs.ts';
import type { MacSocket, SocketOwner } from './mac-socket.ts';
import { ReachRequests } from './reach-requests.ts';
import { UnconfirmedSends } from './unconfirmed-sends.ts';

/** The gateway's callbacks for its sessions. */
export interface SessionHost {
  /** The session registered or ended, so the registration deadline no longer applies. */
  registrationEnded(session: MacSession): void;
  /** The socket has buffered bytes that the Mac has not read. */
  unsent(session: MacSession): void;
  left(session: MacSession): void;
  closeSocket(socket: MacSocket, code: CloseCode, reason: string): void;
  /** The connection is closed. */
  socketClosed(socket: MacSocket): void;
}

/** Events for metrics and logs. */
export interface MacEvents {
  bound(lease: Lease, displaced: boolean): void;
  gone(lease: Lease): void;
  locationContended(locationId: LocationId, deviceId: string, waitSec: number): void;
  frameIgnored(reason: 'unknown_type' | 'invalid_state'): void;
  /** An unconfirmed frame was written again. */
  repeated(): void;
  /** The node could not confirm that it holds the location. */
  leaseLost(): void;
}

export interface SessionDeps {
  readonly switchboard: Pick<Switchboard, 'bind' | 'release' | 'isCurrent' | 'reply'>;
  readonly deviceAuth: Pick<DeviceAuth, 'confirm'>;
  readonly claims: Pick<LocationClaims, 'claim'>;
  readonly lastSeen: Pick<LastSeen, 'versions'>;
  readonly inbound: Pick<Inbound, 'deliver'>;
  readonly statuses: Pick<StatusReports, 'published' | 'reported'>;
  readonly ledger: SendLedger;
  readonly frameMemory: FrameMemory;
  readonly journal: Pick<Journal, 'step'>;
  readonly events: MacEvents;
  readonly clock: Pick<Clock, 'now' | 'after'>;
  readonly log: Log;
  readonly host: SessionHost;
  readonly silent: Pick<SilentMacs<MacSession>, 'watch' | 'forget'>;
  /** Whether the service accepts messages that the owner of a Mac types. */
  readonly mirrorSent: boolean;
}

const MAX_UNSENT_BYTES = 1_000_000;
const MAX_ACK_REASON = 500;
/** Leaves room for `again`, so that the frame can be repeated. */
const MAX_SEND_BYTES = MAX_FRAME_BYTES - ',"again":true'.length;
const REGISTER_FIRST = 'the first frame must be register';

const NOT_CAPABLE = 'The agent on the Mac cannot tell. Update it with `footbridge-agent update`.';

/** Frames that are acknowledged. */
type Acknowledged = MessageStatusFrame | MessageReceivedFrame;

/** One Mac's session, from the upgrade until the socket closes. Kept small: a node holds tens of thousands. */
export class MacSession implements MacConnection, SocketOwner, Beating, Reader, Confirming, RepeatTarget {
  readonly sessionId = randomUUID();
  readonly device: DeviceIdentity;
  slot = 0;
  signsOfLife = 0;
  readonly #socket: MacSocket;
  readonly #deps: SessionDeps;
  #state: 'new' | 'binding' | 'bound' | 'ended' = 'new';
  #locationId: LocationId | undefined;
  #lease: Lease | undefined;
  #stateReport: StateReport | undefined;
  /** Frames that arrived after `register` and before the session was bound. */
  #early: { frame: Acknowledged; bytes: number }[] | undefined;
  /** Undefined for a Mac that does not confirm. */
  #unconfirmed: UnconfirmedSends | undefined;
  /** Undefined for a Mac that does not reply. */
  #reachRequests: ReachRequests | undefined;
  readonly #window: ReceiveWindow;
  readonly #extraFrames = new ExtraFrames();
  #unanswered = 0;
  /** Set while draining: the session closes this way once all accepted frames are acknowledged, and accepts no more. */
  #leaving: CloseReason | undefined;
  /** Whether `events.bound` was called, so that `events.gone` must follow. */
  #isAnnounced = false;

  constructor(socket: MacSocket, device: DeviceIdentity, deps: SessionDeps) {
    this.#socket = socket;
    this.device = device;
    this.#deps = deps;
    this.#window = new ReceiveWindow(deps.frameMemory, device.licenseId);
  }

  get deviceId(): string {
    return this.device.deviceId;
  }

  get locationId(): LocationId | undefined {
    return this.#locationId;
  }

  get stateReport(): StateReport | undefined {
    return this.#stateReport;
  }

  get ready(): Promise<void> | undefined {
    return this.#unconfirmed?.ready;
  }

  get unsent(): number {
    return this.#socket.bufferedAmount;
  }

  get flushed(): number {
    return this.#socket.flushed;
  }

  get hasUnconfirmed(): boolean {
    return this.#unconfirmed?.isEmpty === false;
  }

  heard(data: Buffer, isText: boolean): void {
    if (this.#state === 'ended') return;
    this.signsOfLife++;
    if (!isText) return this.#violated('frames must be text');
    const text = data.toString();
    const parsed = readMacFrame(data, text);
    if (parsed.kind === 'unknown') return this.#ignore('unknown_type', data.length);
    if (parsed.kind === 'invalid') {
      // A state is information for the operator only. An invalid one must not cost the connection.
      return parsed.type === 'state'
        ? this.#ignore('invalid_state', data.length)
        : this.#violated(parsed.reason);
    }
    const { frame } = parsed;
    if (frame.type === 'register') return this.#registered(frame);
    if (this.#state === 'new') return this.#violated(REGISTER_FIRST);
    if (frame.type === 'state') return this.#reported(frame, data.length);
    if (frame.type === 'reach_result') return this.#replied(frame);
    if (frame.type === 'received') {
      // A confirmation of a frame that was not sent, or that was confirmed before, has no effect but counts.
      return this.#confirm(frame.requestId) ? this.#leaveIfDone() : this.#countExtra();
    }
    if (frame.type === 'message_status') this.#confirm(frame.requestId);
    // A character beyond ASCII makes V8 store the text with two bytes a character.
    this.#take(frame, text.length === data.length ? data.length : 2 * text.length);
  }

  /** Only the Mac that was asked may reply. */
  #replied(frame: ReachResultFrame): void {
    if (this.#reachRequests?.replied(frame.requestId) === true) this.#deps.switchboard.reply(frame);
    else this.#countExtra();
  }

  #confirm(requestId: string): boolean {
    return this.#unconfirmed?.confirm(requestId) === true;
  }

  #ignore(reason: 'unknown_type' | 'invalid_state', bytes: number): void {
    if (this.#state === 'new') return this.#violated(REGISTER_FIRST);
    this.#deps.events.frameIgnored(reason);
    this.#countExtra(bytes);
  }

  #reported(state: StateFrame, bytes: number): void {
    this.#stateReport = { at: this.#deps.clock.now(), state };
    this.#countExtra(bytes);
  }

  #countExtra(bytes = 0): void {
    if (!this.#extraFrames.add(bytes))
      this.#violated('too many pings, pongs, states or frames of unknown types');
  }

  #violated(how: string, code: CloseCode = CLOSE.protocol): void {
    this.#socket.stopReading();
    this.end(code, how);
  }

  #registered(frame: RegisterFrame): void {
    if (this.#state !== 'new') return this.#violated('register may be sent only once');
    const locationId = asLocationId(frame.locationId);
    if (locationId === undefined || /\p{Cc}/u.test(locationId))
      return this.#violated('register: locationId must be a text without control characters');
    this.#state = 'binding';
    this.#locationId = locationId;
    if (frame.capabilities.includes(CAPABILITY.confirms)) {
      const sends = this.#deps.ledger.open(locationId, this.deviceId);
      this.#unconfirmed = new UnconfirmedSends(this, sends, this.#deps);
    }
    if (frame.capabilities.includes(CAPABILITY.repliesToReach)) this.#reachRequests = new ReachRequests();
    this.#deps.host.registrationEnded(this);
    void this.#deps.lastSeen.versions(this.device, {
      osVersion: frame.os.version,
      appVersion: frame.agent.version,
    });
    this.#bind(locationId).catch((error: unknown) => {
      this.#deps.log.error(
        { event: 'mac.bind_failed', err: error, locationId, deviceId: this.deviceId },
        'bind failed',
      );
      this.end(...BIND_FAILED);
    });
  }

  async #bind(locationId: LocationId): Promise<void> {
    const { deviceAuth, claims, switchboard, events } = this.#deps;
    if (this.device.status !== 'active') return this.checkStatus();
    const claim = await claims.claim(locationId, this.device);
    // Checked last, to see changes made since the upgrade or during the claim.
    const status = await deviceAuth.confirm(this.device);
    if (status !== 'active') return this.end(...BY_STATUS[status]);
    if (claim !== 'owned') return this.lostLocation(claim);
    if (this.#isEnded) return;
    const outcome = await switchboard.bind(locationId, this);
    if (outcome.kind === 'contended') return this.#contended(locationId, outcome.waitSec);
    if (this.#isEnded) return await switchboard.release(outcome.lease);
    this.#enter(outcome.lease);
    this.#isAnnounced = true;
    events.bound(outcome.lease, outcome.displaced);
    this.checkStatus();
    if (outcome.unconfirmed !== undefined) await outcome.unconfirmed;
    this.#unconfirmed?.resume();
  }

  repeat(entries: readonly LedgerEntry[]): void {
    if (!this.#isEnded) this.#unconfirmed?.repeat(entries);
  }

  writeAgain(entry: LedgerEntry): void {
    const { frame, isRepeated } = entry;
    if (this.#put({ ...frame, again: true }) === undefined) return;
    this.#deps.silent.watch(this);
    this.#deps.events.repeated();
    // Recorded once per frame: a Mac that keeps reconnecting must not fill the database (T53).
    if (!isRepeated) this.#deps.journal.step(frame.requestId, 'written', { detail: { again: true } });
    entry.isRepeated = true;
  }

  get #isEnded(): boolean {
    return this.#state === 'ended';
  }

  #contended(locationId: LocationId, waitSec: number): void {
    this.#deps.events.locationContended(locationId, this.deviceId, waitSec);
    this.end(CLOSE.contended, String(waitSec));
  }

  /** `registered` is always the first frame to a bound Mac, even when a message for it arrives at the same moment. */
  #enter(lease: Lease): void {
    if (this.#lease !== undefined) return;
    const { locationId, sessionId } = lease;
    this.#lease = lease;
    this.#state = 'bound';
    this.#unconfirmed?.bound(this.device.licenseId);
    const mirror = this.#deps.mirrorSent && { mirror: true };
    this.#put({ type: 'registered', locationId, sessionId, window: WINDOW, ...mirror });
    const early = this.#early ?? [];
    this.#early = undefined;
    for (const { frame, bytes } of early) void this.#deliver(lease, frame, bytes);
  }

  #take(frame: Acknowledged, bytes: number): void {
    if (this.#isEnded || this.#leaving !== undefined) return;
    const taken = this.#window.take(bytes);
    if (taken === 'exceeded') return this.#violated('too many frames unacknowledged', CLOSE.window);
    if (taken === 'left_out') return;
    if (this.#lease === undefined) (this.#early ??= []).push({ frame, bytes });
    else void this.#deliver(this.#lease, frame, bytes);
  }

  /** Never rejects. */
  async #deliver(lease: Lease, frame: Acknowledged, bytes: number): Promise<void> {
    const { inbound, statuses, switchboard, log } = this.#deps;
    try {
      const outcome =
        frame.type === 'message_status'
          ? await statuses.reported(lease, frame)
          : await inbound.deliver(lease, frame);
      if (outcome !== 'retry') {
        this.#window.acknowledged();
        if (this.#state === 'bound' && switchboard.isCurrent(lease)) this.#acknowledge(frame.seq, outcome);
        return this.#leaveIfDone();
      }
    } catch (error) {
      log.error(
        { event: 'mac.frame_not_delivered', err: error, locationId: lease.locationId, type: frame.type },
        'frame not delivered',
      );
    } finally {
      this.#window.release(bytes);
    }
    this.#window.notDelivered();
  }

  #acknowledge(seq: number, outcome: Exclude<AckOutcome, 'retry'>): void {
    if (outcome.outcome === 'rejected')
      this.#put({
        ...outcome,
        type: 'ack',
        seq,
        reason: outcome.reason.slice(0, MAX_ACK_REASON).toWellFormed(),
      });
    else this.#put({ type: 'ack', seq, outcome: outcome.outcome });
  }

  write(frame: RoutedFrame, epoch: number): 'written' | 'overloaded' {
    if (this.#locationId === undefined || this.#isEnded) return 'overloaded';
    this.#enter({ locationId: this.#locationId, deviceId: this.deviceId, sessionId: this.sessionId, epoch });
    const lease = this.#lease;
    if (lease?.epoch !== epoch) return 'overloaded';
    if (frame.type === 'reach_request') return this.#ask(frame);
    if (frame.type !== 'send') return this.#put(frame) === undefined ? 'overloaded' : 'written';
    if (!this.#send(frame)) return 'overloaded';
    const { requestId, messageId, traceparent } = frame;
    const detail = { epoch, ...(traceparent !== undefined && { traceparent }) };
    this.#deps.journal.step(requestId, 'written', { state: 'written', detail });
    this.#deps.statuses.published({ requestId, messageId, locationId: lease.locationId, lease });
    return 'written';
  }

  /** Replies at once for a Mac that does not reply itself. */
  #ask(frame: ReachRequestFrame): 'written' | 'overloaded' {
    const requests = this.#reachRequests;
    const { requestId } = frame;
    if (requests === undefined) {
      this.#deps.switchboard.reply({
        type: 'reach_result',
        requestId,
        reach: 'unknown',
        reason: NOT_CAPABLE,
      });
      return 'written';
    }
    if (this.#put(frame) === undefined) return 'overloaded';
    requests.add(requestId);
    return 'written';
  }

  #send(frame: SendFrame): boolean {
    const bytes = this.#put(frame, MAX_SEND_BYTES);
    if (bytes === undefined) return false;
    if (this.#unconfirmed !== undefined) {
      this.#unconfirmed.add(frame, bytes);
      this.#deps.silent.watch(this);
    }
    return true;
  }

  /** Returns the number of bytes written, or undefined when the frame was not written. */
  #put(frame: ServiceFrame, maxBytes?: number): number | undefined {
    if (this.#isEnded || this.#socket.readyState !== this.#socket.OPEN) return undefined;
    if (this.unsent > MAX_UNSENT_BYTES) {
      this.tooSlow();
      return undefined;
    }
    const bytes = this.#socket.sendText(writeFrame(frame), maxBytes);
    if (bytes === undefined)
      this.#deps.log.warn(
        { event: 'mac.frame_too_large', locationId: this.#locationId, type: frame.type },
        'frame too large',
      );
    else this.#watchUnsent();
    return bytes;
  }

  #watchUnsent(): void {
    if (this.unsent > 0) this.#deps.host.unsent(this);
  }

  tooSlow(): void {
    this.end(...NOT_READING);
  }

  beat(): void {
    if (this.#window.mustResend) return this.end(...MUST_RESEND);
    this.#extraFrames.reset();
    this.#unanswered++;
    this.#socket.beat();
    this.#watchUnsent();
  }

  answered(): void {
    this.signsOfLife++;
    this.#unanswered = 0;
    this.#countExtra();
  }

  probe(): void {
    this.#socket.beat();
    this.#unconfirmed?.writeMore();
  }

  silent(): void {
    this.#finish('no confirmation and no pong');
    this.#socket.terminate();
  }

  checkPong(): void {
    if (this.#unanswered < 2) return;
    this.#finish('two pings went unanswered');
    this.#socket.terminate();
  }

  pinged(data: Buffer): void {
    if (this.#isEnded) return;
    if (this.unsent > MAX_UNSENT_BYTES) return this.tooSlow();
    this.signsOfLife++;
    this.#socket.pong(data);
    this.#watchUnsent();
    this.#countExtra();
  }

  notRegistered(): void {
    this.end(...NOT_REGISTERED);
  }

  /** Ends the session when its license or device is no longer active. */
  checkStatus(): void {
    if (this.device.status !== 'active') this.end(...BY_STATUS[this.device.status]);
  }

  lostLocation(why: keyof typeof NOT_ADMITTED): void {
    this.end(...NOT_ADMITTED[why]);
  }

  disconnect(reason: DisconnectReason): void {
    if (reason === 'fenced') this.#deps.events.leaseLost();
    this.end(...ON_DISCONNECT[reason]);
  }

  /** Ends the session once all accepted frames are acknowledged and all written ones confirmed, so that neither side has to resend. */
  leave(code: CloseCode, reason: string): void {
    this.#leaving = [code, reason];
    this.#leaveIfDone();
  }

  #leaveIfDone(): void {
    if (this.#leaving !== undefined && this.#window.isEmpty && !this.hasUnconfirmed)
      this.end(...this.#leaving);
  }

  end(code: CloseCode, reason: string): void {
    if (this.#isEnded) return;
    this.#finish(reason, code);
    this.#deps.host.closeSocket(this.#socket, code, reason);
  }

  ended(code: number): void {
    this.#finish('the connection ended', code);
    this.#deps.host.socketClosed(this.#socket);
  }

  /** Closes the connection without a closing handshake. */
  terminate(): void {
    this.#finish('the service stopped');
    this.#socket.terminate();
  }

  #finish(why: string, code?: number): void {
    if (this.#isEnded) return;
    this.#state = 'ended';
    for (const { bytes } of this.#early ?? []) this.#window.release(bytes);
    this.#early = undefined;
    this.#unconfirmed?.close();
    this.#stateReport = undefined;
    const { host, silent, log, switchboard, events } = this.#deps;
    host.registrationEnded(this);
    silent.forget(this);
    host.left(this);
    const lease = this.#lease;
    log.info(
      { event: 'mac.disconnected', locationId: this.#locationId, deviceId: this.deviceId, code, why },
      'Mac disconnected',
    );
    if (lease === undefined) return;
    if (this.#isAnnounced) events.gone(lease);
    switchboard.release(lease).catch((error: unknown) => {
      log.warn(
        { event: 'location.not_released', err: error, locationId: lease.locationId },
        'location not released; its lease will expire',
      );
    });
  }
}
