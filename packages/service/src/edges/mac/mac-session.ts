import { randomUUID } from 'node:crypto';

import { CLOSE } from '@footbridge/protocol/close-codes';
import type { CloseCode } from '@footbridge/protocol/close-codes';
import { parseMacFrame, writeFrame } from '@footbridge/protocol/frames';
import type {
  AckOutcome,
  MacFrame,
  MessageReceivedFrame,
  MessageStatusFrame,
  RegisterFrame,
  ServiceFrame,
} from '@footbridge/protocol/frames';
import { asLocationId } from '@footbridge/protocol/ids';
import type { LocationId } from '@footbridge/protocol/ids';
import type { Log } from '@footbridge/runtime/log';

import type { DeviceIdentity, AuthStatus } from '../../flows/enrol/authenticate-device.ts';
import type { Journal } from '../../ports/journal/journal.ts';
import type { ClaimOutcome } from '../../ports/licenses/licenses.ts';
import type {
  DisconnectReason,
  Lease,
  MacConnection,
  RoutedFrame,
  Switchboard,
} from '../../ports/switchboard/switchboard.ts';
import type { Beating } from './heartbeat-wheel.ts';
import type { MacSocket, SocketOwner } from './mac-socket.ts';
import type { Reader } from './slow-readers.ts';

/** Delivers inbound messages to the CRM. Calls come in order of arrival and do not wait for earlier ones. */
export interface Inbound {
  deliver(lease: Lease, frame: MessageReceivedFrame): Promise<AckOutcome>;
}

export interface Statuses {
  /** Handles a status report from a Mac. */
  reported(lease: Lease, frame: MessageStatusFrame): Promise<AckOutcome>;
  /** Called when a `send` frame has been written to the Mac's socket. */
  published(message: {
    requestId: string;
    locationId: LocationId;
    messageId: string | null;
    lease: Lease;
  }): void;
}

/** Events for metrics and logs. */
export interface MacEvents {
  bound(lease: Lease, displaced: boolean): void;
  gone(lease: Lease): void;
  locationContended(locationId: LocationId, deviceId: string, waitSec: number): void;
  frameIgnored(reason: 'unknown_type'): void;
}

/** Admission checks at `register`. They run again there because the license may have changed since the upgrade. */
export interface Admission {
  confirm(device: DeviceIdentity): Promise<AuthStatus>;
  claim(locationId: LocationId, device: DeviceIdentity): Promise<ClaimOutcome>;
  introduced(device: DeviceIdentity, versions: { osVersion: string; appVersion: string }): void;
}

/** The gateway's callbacks for its sessions. */
export interface SessionHost {
  /** The session registered or ended, so the registration deadline no longer applies. */
  settled(session: MacSession): void;
  /** The socket has buffered bytes that the Mac has not read. */
  unsent(session: MacSession): void;
  left(session: MacSession): void;
  closeSocket(socket: MacSocket, code: CloseCode, reason: string): void;
  /** The connection is closed. */
  socketClosed(socket: MacSocket): void;
}

export interface SessionDeps {
  readonly switchboard: Pick<Switchboard, 'bind' | 'release' | 'isCurrent'>;
  readonly admission: Admission;
  readonly inbound: Inbound;
  readonly statuses: Statuses;
  readonly journal: Pick<Journal, 'step'>;
  readonly events: MacEvents;
  readonly log: Log;
  readonly host: SessionHost;
}

/** Maximum unacknowledged frames per Mac. */
export const WINDOW = 64;
const MAX_UNSENT_BYTES = 1_000_000;
const MAX_ACK_REASON = 500;
/** Maximum pings and frames of unknown type between two heartbeats. */
const MAX_UNCOUNTED_FRAMES = 1000;
const REGISTER_FIRST = 'the first frame must be register';

const DISCONNECTS: Readonly<Record<DisconnectReason, readonly [CloseCode, string]>> = {
  displaced: [CLOSE.displaced, 'another Mac took over this location'],
  resumed: [CLOSE.protocol, 'this device connected again'],
  fenced: [CLOSE.goingAway, 'the service lost its hold on this location; come back'],
  closed: [CLOSE.protocol, 'disconnected by the operator'],
};

const CLOSE_BY_STATUS: Readonly<Record<Exclude<AuthStatus, 'active'>, readonly [CloseCode, string]>> = {
  suspended: [CLOSE.suspended, 'the license is suspended'],
  inactive: [CLOSE.suspended, 'this device is no longer active'],
  replaced: [CLOSE.protocol, 'this device was activated again; connect with its new token'],
};

type Unregistered = Exclude<MacFrame, RegisterFrame>;

/** One Mac's session, from the upgrade until the socket closes. Kept small: a node holds tens of thousands. */
export class MacSession implements MacConnection, SocketOwner, Beating, Reader {
  readonly sessionId = randomUUID();
  readonly device: DeviceIdentity;
  slot = 0;
  readonly #socket: MacSocket;
  readonly #deps: SessionDeps;
  #state: 'new' | 'binding' | 'bound' | 'ended' = 'new';
  #locationId: LocationId | undefined;
  #lease: Lease | undefined;
  /** Frames that arrived after `register` and before the session was bound. */
  #early: Unregistered[] | undefined;
  #unacknowledged = 0;
  #unanswered = 0;
  #uncountedFrames = 0;
  #owesRetry = false;
  /** Set while draining: the session closes this way once all accepted frames are acknowledged, and accepts no more. */
  #leaving: readonly [CloseCode, string] | undefined;
  /** Whether `events.bound` was called, so that `events.gone` must follow. */
  #isAnnounced = false;

  constructor(socket: MacSocket, device: DeviceIdentity, deps: SessionDeps) {
    this.#socket = socket;
    this.device = device;
    this.#deps = deps;
  }

  get deviceId(): string {
    return this.device.deviceId;
  }

  get locationId(): LocationId | undefined {
    return this.#locationId;
  }

  get unsent(): number {
    return this.#socket.bufferedAmount;
  }

  get flushed(): number {
    return this.#socket.flushed;
  }

  heard(data: Buffer, isText: boolean): void {
    if (this.#state === 'ended') return;
    if (!isText) return this.#violated('frames must be text');
    const parsed = parseMacFrame(data.toString());
    if (parsed.kind === 'invalid') return this.#violated(parsed.reason);
    if (parsed.kind === 'unknown') return this.#ignore();
    const { frame } = parsed;
    if (frame.type === 'register') return this.#registered(frame);
    if (this.#state === 'new') return this.#violated(REGISTER_FIRST);
    this.#take(frame);
  }

  #ignore(): void {
    if (this.#state === 'new') return this.#violated(REGISTER_FIRST);
    this.#deps.events.frameIgnored('unknown_type');
    this.#limitUncounted();
  }

  /** These frames are outside the window, so they are limited here: a Mac must not keep the service busy with them. */
  #limitUncounted(): void {
    if (++this.#uncountedFrames > MAX_UNCOUNTED_FRAMES)
      this.#violated('too many pings or frames of unknown types');
  }

  #violated(how: string): void {
    this.end(CLOSE.protocol, how);
  }

  #registered(frame: RegisterFrame): void {
    if (this.#state !== 'new') return this.#violated('register may be sent only once');
    const locationId = asLocationId(frame.locationId);
    if (locationId === undefined || /\p{Cc}/u.test(locationId))
      return this.#violated('register: locationId must be a text without control characters');
    this.#state = 'binding';
    this.#locationId = locationId;
    this.#deps.host.settled(this);
    this.#deps.admission.introduced(this.device, {
      osVersion: frame.os.version,
      appVersion: frame.agent.version,
    });
    this.#bind(locationId).catch((error: unknown) => {
      this.#deps.log.error(
        { event: 'mac.bind_failed', err: error, locationId, deviceId: this.deviceId },
        'bind failed',
      );
      this.end(CLOSE.goingAway, 'the service cannot do this now; come back');
    });
  }

  async #bind(locationId: LocationId): Promise<void> {
    const { admission, switchboard, events } = this.#deps;
    if (this.device.status !== 'active') return this.checkStatus();
    const claim = await admission.claim(locationId, this.device);
    // Checked last, to see changes made since the upgrade or during the claim.
    const status = await admission.confirm(this.device);
    if (status !== 'active') return this.end(...CLOSE_BY_STATUS[status]);
    if (claim !== 'owned') return this.lostLocation(claim);
    if (this.#isEnded) return;
    const outcome = await switchboard.bind(locationId, this);
    if (outcome.kind === 'contended') return this.#contended(locationId, outcome.waitSec);
    if (this.#isEnded) return await switchboard.release(outcome.lease);
    this.#enter(outcome.lease);
    this.#isAnnounced = true;
    events.bound(outcome.lease, outcome.displaced);
    this.checkStatus();
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
    this.#put({ type: 'registered', locationId, sessionId, window: WINDOW });
    const early = this.#early ?? [];
    this.#early = undefined;
    for (const frame of early) this.#take(frame);
  }

  #take(frame: Unregistered): void {
    // An undelivered frame will be resent; later ones must not overtake it (I5).
    if (this.#state === 'ended' || this.#owesRetry || this.#leaving !== undefined) return;
    if (this.#lease === undefined) {
      this.#early ??= [];
      if (this.#early.push(frame) > WINDOW) this.end(CLOSE.window, 'too many frames unacknowledged');
      return;
    }
    if (this.#unacknowledged >= WINDOW) return this.end(CLOSE.window, 'too many frames unacknowledged');
    this.#unacknowledged++;
    void this.#deliver(this.#lease, frame);
  }

  async #deliver(lease: Lease, frame: Unregistered): Promise<void> {
    const { inbound, statuses, switchboard, log } = this.#deps;
    try {
      const outcome =
        frame.type === 'message_status'
          ? await statuses.reported(lease, frame)
          : await inbound.deliver(lease, frame);
      if (outcome !== 'retry') {
        this.#unacknowledged--;
        if (this.#state === 'bound' && switchboard.isCurrent(lease)) this.#acknowledge(frame.seq, outcome);
        return this.#leaveIfDone();
      }
    } catch (error) {
      log.error(
        { event: 'mac.frame_not_delivered', err: error, locationId: lease.locationId, type: frame.type },
        'frame not delivered',
      );
    }
    this.#owesRetry = true;
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
    if (lease?.epoch !== epoch || !this.#put(frame)) return 'overloaded';
    if (frame.type === 'send') {
      const { requestId, messageId } = frame;
      this.#deps.journal.step(requestId, 'written', { state: 'written', detail: { epoch } });
      this.#deps.statuses.published({ requestId, messageId, locationId: lease.locationId, lease });
    }
    return 'written';
  }

  #put(frame: ServiceFrame): boolean {
    if (this.#isEnded || this.#socket.readyState !== this.#socket.OPEN) return false;
    if (this.unsent > MAX_UNSENT_BYTES) {
      this.tooSlow();
      return false;
    }
    if (!this.#socket.sendText(writeFrame(frame))) {
      this.#deps.log.warn(
        { event: 'mac.frame_too_large', locationId: this.#locationId, type: frame.type },
        'frame too large',
      );
      return false;
    }
    this.#watchUnsent();
    return true;
  }

  #watchUnsent(): void {
    if (this.unsent > 0) this.#deps.host.unsent(this);
  }

  tooSlow(): void {
    this.end(CLOSE.slow, 'the Mac does not read');
  }

  beat(): void {
    if (this.#owesRetry)
      return this.end(CLOSE.goingAway, 'frames were not delivered; come back and send them again');
    this.#uncountedFrames = 0;
    this.#unanswered++;
    this.#socket.beat();
    this.#watchUnsent();
  }

  answered(): void {
    this.#unanswered = 0;
  }

  checkPong(): void {
    if (this.#unanswered < 2) return;
    this.#finish('two pings went unanswered');
    this.#socket.terminate();
  }

  pinged(data: Buffer): void {
    if (this.#isEnded) return;
    if (this.unsent > MAX_UNSENT_BYTES) return this.tooSlow();
    this.#socket.pong(data);
    this.#watchUnsent();
    this.#limitUncounted();
  }

  notRegistered(): void {
    this.end(CLOSE.slow, 'no register frame within 10 seconds');
  }

  /** Ends the session when its license or device is no longer active. */
  checkStatus(): void {
    if (this.device.status !== 'active') this.end(...CLOSE_BY_STATUS[this.device.status]);
  }

  lostLocation(why: Exclude<ClaimOutcome, 'owned'>): void {
    this.end(
      CLOSE.foreignLocation,
      why === 'foreign'
        ? 'this location belongs to another license'
        : 'this location is not assigned to your license',
    );
  }

  disconnect(reason: DisconnectReason): void {
    this.end(...DISCONNECTS[reason]);
  }

  /** Ends the session once all accepted frames are acknowledged, so that the Mac has nothing to resend. */
  leave(code: CloseCode, reason: string): void {
    this.#leaving = [code, reason];
    this.#leaveIfDone();
  }

  #leaveIfDone(): void {
    if (this.#leaving !== undefined && this.#unacknowledged === 0) this.end(...this.#leaving);
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
    this.#early = undefined;
    const { host, log, switchboard, events } = this.#deps;
    host.settled(this);
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
