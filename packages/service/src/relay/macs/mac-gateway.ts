import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

import { parseBearerToken } from '@footbridge/protocol/bearer-token';
import { CLOSE } from '@footbridge/protocol/close-codes';
import type { CloseCode } from '@footbridge/protocol/close-codes';
import type { EnrolmentCode } from '@footbridge/protocol/codes';
import { SUBPROTOCOL } from '@footbridge/protocol/frames';
import { every } from '@footbridge/runtime/clock';
import type { Clock } from '@footbridge/runtime/clock';

import { MAC_BUDGET } from '../../platform/budgets.ts';
import { RequestError } from '../../platform/errors.ts';
import type { RequestErrorOptions } from '../../platform/errors.ts';
import type { LocationClaims } from '../accounts/claim-location.ts';
import type { LastSeen } from '../accounts/last-seen.ts';
import type { TokenUse } from '../accounts/token-use.ts';
import type { DeviceIdentity, DeviceAuth } from '../accounts/authenticate-device.ts';
import type { Changes } from '../../platform/changes/changes.ts';
import type { Limit, Limits } from '../../platform/limits/limits.ts';
import type { ValuesOf } from '../../platform/settings/setting.ts';
import { Slots } from '../../platform/http/request-budget.ts';
import { FrameMemory } from './receive-window.ts';
import { HeartbeatWheel, SilentMacs, SlowReaders } from './watch-macs.ts';
import { MacSession } from './mac-session.ts';
import type { SessionDeps, SessionHost } from './mac-session.ts';
import { createSocketServer } from './mac-socket.ts';
import type { MacSocket } from './mac-socket.ts';
import { PacedClosing } from './paced-closing.ts';
import type { MACS } from './settings.ts';

export interface GatewayDeps
  extends Omit<SessionDeps, 'host' | 'silent' | 'frameMemory'>, ValuesOf<typeof MACS> {
  readonly deviceAuth: Pick<DeviceAuth, 'authenticate' | 'confirm' | 'retain' | 'release' | 'onStatusChange'>;
  readonly claims: Pick<LocationClaims, 'claim' | 'mayServe'>;
  readonly lastSeen: Pick<LastSeen, 'note' | 'versions'>;
  readonly tokenUse: Pick<TokenUse, 'connected'>;
  readonly changes: Pick<Changes, 'listen'>;
  readonly limits: Pick<Limits, 'take'>;
  readonly clock: Clock;
  /** Returns the rate limit key of an address. */
  readonly addressKey: (address: string) => string;
  /** Responds to an upgrade with an HTTP error. */
  readonly rejectUpgrade: (socket: Socket, error: RequestError) => void;
}

export interface MacGateway {
  /** Open sockets on this node, registered or not. */
  readonly sessions: number;
  /** The largest number of unsent bytes of one Mac. */
  readonly maxUnsentBytes: number;
  handleUpgrade(request: IncomingMessage, socket: Socket, head: Buffer, address: string): void;
  /** Rejects new Macs and closes the connected ones within about `ms`, so that they reconnect to another node. */
  drain(ms: number): Promise<void>;
  close(): Promise<void>;
}

export const MAC_SOCKET_PATH = '/mac/socket';
const REGISTER_MS = 10_000;
/** Share of the drain time for starting to close sessions; the rest is for closing handshakes. */
const DRAIN_SHARE = 0.7;
const DRAIN_STEP_MS = 20;
const EXPIRE_MS = 10_000;
const HANDSHAKES_MS = 500;
const SHUTTING_DOWN = [CLOSE.goingAway, 'this node is shutting down; come back'] as const;
const REJECTED: Limit = { name: 'mac-socket-refused', max: 300, windowSec: 60 };

export function createMacGateway(deps: GatewayDeps): MacGateway {
  return new Gateway(deps);
}

class Gateway implements MacGateway, SessionHost {
  readonly #deps: GatewayDeps;
  readonly #sessionDeps: SessionDeps;
  readonly #attempts: Limit;
  readonly #server = createSocketServer();
  readonly #sockets: Slots;
  readonly #slotOf = new WeakMap<MacSession, () => void>();
  readonly #wheel: HeartbeatWheel<MacSession>;
  readonly #slow = new SlowReaders();
  readonly #silent: SilentMacs<MacSession>;
  readonly #closing: PacedClosing;
  /** Sessions that have not registered yet, with their deadlines, earliest first. */
  readonly #unregistered = new Map<MacSession, number>();
  /** Sockets in their closing handshake. */
  readonly #closingSockets = new Set<MacSocket>();
  readonly #undo: (() => void)[];
  /** Upgrades whose tokens are being checked. */
  #admitting = 0;
  #draining = false;

  constructor(deps: GatewayDeps) {
    const { deviceAuth, clock, changes } = deps;
    this.#deps = deps;
    this.#silent = new SilentMacs(clock);
    this.#sessionDeps = {
      switchboard: deps.switchboard,
      deviceAuth,
      claims: deps.claims,
      lastSeen: deps.lastSeen,
      inbound: deps.inbound,
      statuses: deps.statuses,
      ledger: deps.ledger,
      frameMemory: new FrameMemory(MAC_BUDGET.unacknowledgedBytes),
      journal: deps.journal,
      events: deps.events,
      clock,
      log: deps.log,
      host: this,
      silent: this.#silent,
      mirrorSent: deps.mirrorSent,
    };
    this.#sockets = new Slots({ total: deps.maxSessions, perDevice: MAC_BUDGET.socketsPerDevice });
    this.#attempts = { name: 'mac-socket', max: deps.socketPerMinute, windowSec: 60 };
    this.#wheel = new HeartbeatWheel(deps.heartbeatSec * 1000);
    this.#closing = new PacedClosing(clock);
    this.#undo = [
      every(clock, this.#wheel.tickMs, () => this.#tick()),
      this.#silent.stop,
      every(clock, EXPIRE_MS, () => deps.ledger.expire()),
      deviceAuth.onStatusChange(() => this.#checkStatuses()),
      changes.listen('location', (subject) => void this.#checkOwners(subject)),
    ];
  }

  get sessions(): number {
    return this.#wheel.size;
  }

  get maxUnsentBytes(): number {
    return this.#slow.maxUnsent;
  }

  handleUpgrade(request: IncomingMessage, socket: Socket, head: Buffer, address: string): void {
    const rejected = this.#reasonToReject(request);
    if (rejected !== undefined) return this.#deps.rejectUpgrade(socket, rejected);
    this.#admitting++;
    this.#admit(request, socket, head, address)
      .catch((error: unknown) => {
        this.#deps.log.error({ event: 'mac.admission_failed', err: error }, 'admission failed');
        this.#deps.rejectUpgrade(
          socket,
          unavailable('The service cannot check the device token now; try again.'),
        );
      })
      .finally(() => this.#admitting--);
  }

  /** Checks that need only the request. */
  #reasonToReject({ url = '', headers }: IncomingMessage): RequestError | undefined {
    if (this.#draining) return unavailable('This node is shutting down; connect again.');
    if (this.sessions + this.#admitting >= this.#deps.maxSessions)
      return unavailable('This node holds as many Macs as it can; connect again.');
    if (url.split('?', 1)[0] !== MAC_SOCKET_PATH)
      return rejection('INVALID_REQUEST', `Sockets are opened at ${MAC_SOCKET_PATH}.`);
    // Browsers always send Origin, and no web page may connect here (T29).
    if (headers.origin !== undefined) return rejection('FORBIDDEN', 'This socket is not for browsers.');
    const offered = headers['sec-websocket-protocol']?.split(',').map((name) => name.trim());
    if (offered?.includes(SUBPROTOCOL) !== true)
      return rejection('UPGRADE_REQUIRED', `Offer the subprotocol ${SUBPROTOCOL}.`, {
        headers: { Upgrade: 'websocket', 'Sec-WebSocket-Protocol': SUBPROTOCOL },
      });
    return undefined;
  }

  async #admit(request: IncomingMessage, socket: Socket, head: Buffer, address: string): Promise<void> {
    const { limits, deviceAuth, addressKey } = this.#deps;
    const verdict = await limits.take(this.#attempts, addressKey(address));
    if (!verdict.allowed) return this.#deps.rejectUpgrade(socket, tooMany(verdict.resetSec));
    const token = parseBearerToken(request.headers.authorization) ?? '';
    const device = await deviceAuth.authenticate(token);
    if (device?.status === 'suspended')
      return this.#deps.rejectUpgrade(
        socket,
        rejection('LICENSE_SUSPENDED', 'The license of this Mac is suspended.'),
      );
    if (device?.status !== 'active') return await this.#rejectToken(socket, address);
    if (this.#draining)
      return this.#deps.rejectUpgrade(socket, unavailable('This node is shutting down; connect again.'));
    // Its `close` event has passed: nothing would release the slot.
    if (socket.destroyed) return;
    const release = this.#sockets.enter({ device: device.deviceRow });
    if (typeof release === 'string')
      return this.#deps.rejectUpgrade(
        socket,
        release === 'device'
          ? rejection('TOO_MANY_REQUESTS', 'This Mac has too many connections open.', {
              retryAfterSec: TOO_MANY_SOCKETS_SEC,
            })
          : unavailable('This node holds as many Macs as it can; connect again.'),
      );
    // The handshake may fail without a callback.
    socket.once('close', release);
    this.#server.handleUpgrade(request, socket, head, (webSocket) => {
      socket.off('close', release);
      this.#deps.tokenUse.connected(device, addressKey(address));
      this.#open(webSocket, socket, device, release);
    });
  }

  async #rejectToken(socket: Socket, address: string): Promise<void> {
    const verdict = await this.#deps.limits.take(REJECTED, this.#deps.addressKey(address));
    if (!verdict.allowed) return this.#deps.rejectUpgrade(socket, tooMany(verdict.resetSec));
    this.#deps.rejectUpgrade(
      socket,
      rejection(
        'UNAUTHORIZED',
        'The device token is missing or not valid any more; activate this Mac again.',
        {
          headers: { 'WWW-Authenticate': 'Bearer' },
        },
      ),
    );
  }

  #open(webSocket: MacSocket, stream: Socket, device: DeviceIdentity, release: () => void): void {
    const session = new MacSession(webSocket, device, this.#sessionDeps);
    this.#slotOf.set(session, release);
    webSocket.belongTo(session, stream);
    this.#wheel.add(session);
    this.#unregistered.set(session, this.#deps.clock.monotonic() + REGISTER_MS);
    this.#deps.deviceAuth.retain(device);
    this.#deps.lastSeen.note(device.deviceRow);
  }

  registrationEnded(session: MacSession): void {
    this.#unregistered.delete(session);
  }

  unsent(session: MacSession): void {
    this.#slow.watch(session, this.#deps.clock.monotonic());
  }

  left(session: MacSession): void {
    this.#slotOf.get(session)?.();
    this.#wheel.delete(session);
    this.#slow.forget(session);
    this.#deps.deviceAuth.release(session.device);
    this.#deps.lastSeen.note(session.device.deviceRow);
  }

  closeSocket(socket: MacSocket, code: CloseCode, reason: string): void {
    this.#closingSockets.add(socket);
    this.#closing.close(socket, code, reason);
  }

  socketClosed(socket: MacSocket): void {
    this.#closingSockets.delete(socket);
  }

  async drain(ms: number): Promise<void> {
    const { clock } = this.#deps;
    const deadline = clock.monotonic() + ms;
    this.#draining = true;
    // Sessions are closed gradually: the others keep serving, and the Macs do not all reconnect at once.
    const sessions = [...this.#wheel];
    const perStep = Math.max(1, Math.ceil((sessions.length * DRAIN_STEP_MS) / (ms * DRAIN_SHARE)));
    while (sessions.length > 0) {
      for (const session of sessions.splice(0, perStep)) session.leave(...SHUTTING_DOWN);
      await clock.sleep(DRAIN_STEP_MS);
    }
    while (this.sessions > 0 && clock.monotonic() < deadline - HANDSHAKES_MS)
      await clock.sleep(DRAIN_STEP_MS);
    for (const session of this.#wheel) session.end(...SHUTTING_DOWN);
    while (this.#closingSockets.size > 0 && clock.monotonic() < deadline) await clock.sleep(DRAIN_STEP_MS);
  }

  async close(): Promise<void> {
    this.#draining = true;
    for (const undo of this.#undo) undo();
    for (const session of this.#wheel) session.terminate();
    for (const socket of this.#closingSockets) socket.terminate();
  }

  #tick(): void {
    const now = this.#deps.clock.monotonic();
    this.#wheel.turn();
    this.#slow.check(now);
    for (const [session, deadline] of this.#unregistered) {
      if (deadline > now) break;
      session.notRegistered();
    }
  }

  #checkStatuses(): void {
    for (const session of this.#wheel) session.checkStatus();
  }

  /** A location may have a new owner; `*` means any location. */
  async #checkOwners(subject: string): Promise<void> {
    // Caches of owners are invalidated in the same tick, so the check runs in the next one.
    await this.#deps.clock.sleep(0);
    const sessions = [...this.#wheel].filter(
      ({ locationId }) => locationId !== undefined && (subject === '*' || subject === locationId),
    );
    await Promise.all(sessions.map((session) => this.#checkOwner(session)));
  }

  async #checkOwner(session: MacSession): Promise<void> {
    const { claims, log } = this.#deps;
    const { locationId, device } = session;
    if (locationId === undefined) return;
    try {
      if (!(await claims.mayServe(locationId, device))) session.lostLocation('unassigned');
    } catch (error) {
      log.error(
        { event: 'location.owner_check_failed', err: error, locationId },
        'owner check failed; the Mac has to register again',
      );
      session.end(CLOSE.goingAway, 'the service cannot check this location now; come back');
    }
  }
}

const TOO_MANY_SOCKETS_SEC = 10;
/** Another node, or this one, can take the Mac a moment later. */
const RECONNECT_SEC = 1;

const rejection = (code: EnrolmentCode, message: string, options: RequestErrorOptions = {}) =>
  new RequestError(code, { message }, { channel: 'enrolment', ...options });

const unavailable = (message: string) =>
  rejection('SERVICE_UNAVAILABLE', message, { retryAfterSec: RECONNECT_SEC });

const tooMany = (resetSec: number) =>
  rejection('TOO_MANY_REQUESTS', 'Too many connection attempts from this address.', {
    retryAfterSec: resetSec,
  });
