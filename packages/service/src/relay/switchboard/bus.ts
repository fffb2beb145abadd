import { hkdfSync, randomBytes } from 'node:crypto';

import type { ReachResultFrame } from '@footbridge/protocol/frames';

import { NONCE, TAG, createBox, partsOf } from '../../platform/sealed-box.ts';
import { sodium } from '../../platform/sodium.ts';
import type { HandedFrame } from './send-ledger.ts';
import type { BoundMac, DisconnectReason, MacQuery, ReportedStatus, RoutedFrame } from './switchboard.ts';

/** Asks the node that holds the socket of a Mac to write a frame. */
export interface WriteRequest {
  readonly type: 'write';
  readonly id: string;
  readonly from: string;
  readonly locationId: string;
  readonly epoch: number;
  /** In Redis's time. The requesting node stops waiting then, so the frame must not be written later. */
  readonly notAfter: number;
  readonly frame: RoutedFrame;
}

/** Tells a node that one of its connections lost the location. */
export interface DisconnectNotice {
  readonly type: 'disconnect';
  readonly locationId: string;
  readonly sessionId: string;
  readonly reason: Exclude<DisconnectReason, 'moved'>;
  /** Replaces the reason by `moved`. */
  readonly hasMoved?: boolean;
}

/** Whose unconfirmed frames. */
export interface MacName {
  readonly locationId: string;
  readonly deviceId: string;
}

/** Asks a node for the frames that a device has not confirmed. The device is bound with this epoch now. */
export interface TakeOverRequest extends MacName {
  readonly type: 'take_over';
  readonly id: string;
  readonly from: string;
  readonly epoch: number;
}

/** A part of the frames, in order. */
export interface HandedOver {
  readonly type: 'handed_over';
  readonly id: string;
  /** A node of an earlier version sends no `node`. */
  readonly node?: string;
  readonly frames: readonly HandedFrame[];
  readonly isLast: boolean;
}

/** Tells all nodes that the sender keeps unconfirmed frames: of devices that are not connected to it, or of which other nodes need copies. */
export interface KeptNotice {
  readonly type: 'kept';
  readonly from: string;
  readonly macs: readonly MacName[];
}

/** Leaves the unconfirmed frames of a device to a node, because their node is shutting down. */
export interface AdoptNotice extends MacName {
  readonly type: 'adopt';
  readonly frames: readonly HandedFrame[];
}

/** Copies of frames that a device has left unconfirmed since the last notice. All other nodes keep them: the sender may be killed. */
export interface CopyNotice extends MacName {
  readonly type: 'copy';
  readonly from: string;
  readonly frames: readonly HandedFrame[];
  /** Present in the first part when the sender copies all its frames of the device. These copies replace earlier ones. */
  readonly isFirst?: boolean;
}

/** Asks a node for copies of all frames that a device has left unconfirmed. */
export interface CopyRequest extends MacName {
  readonly type: 'copy_request';
  readonly from: string;
}

/** The frames arrived at the node that asked for them. */
export interface TakenNotice extends MacName {
  readonly type: 'taken';
  readonly requestIds: readonly string[];
}

/** The device has confirmed the frames: the other nodes can forget their copies. */
export interface ConfirmedNotice extends MacName {
  readonly type: 'confirmed';
  readonly requestIds: readonly string[];
}

/** What a former owner of a location reports to the next one. Durations from now. */
export interface EndedCalls {
  /** How long an even earlier owner may still have calls in flight. */
  readonly unsettledMs: number;
  /** How long to expect that an even earlier owner sent statuses to the CRM without recording them. */
  readonly unrecordedMs: number;
}

/**
 * Asks the former owner of a location to end its calls for the location and to record their results. With a message, asks a node that
 * rejected a request for the message to end its report, because another request was accepted.
 */
export interface EndCallsRequest {
  /** The name of version 0.1.0, like `settled` and `unsettledMs`. */
  readonly type: 'settle';
  readonly id: string;
  readonly from: string;
  readonly locationId: string;
  readonly epoch: number;
  readonly messageId?: string;
}

/** Asks what a node knows of a message. */
export interface StatusQuestion {
  readonly type: 'status_of';
  readonly id: string;
  readonly from: string;
  readonly locationId: string;
  readonly messageId: string;
  /** The sender rejected a request for the message and is about to report the rejection. Absent from a node of an earlier version. */
  readonly isRejected?: boolean;
}

/** The messages between nodes. */
export type BusMessage =
  | WriteRequest
  | DisconnectNotice
  | { readonly type: 'write_result'; readonly id: string; readonly result: WriteResult }
  | TakeOverRequest
  | HandedOver
  | KeptNotice
  | TakenNotice
  | { readonly type: 'offer'; readonly id: string; readonly from: string }
  | { readonly type: 'offer_accepted'; readonly id: string; readonly node: string }
  | AdoptNotice
  | CopyNotice
  | CopyRequest
  | ConfirmedNotice
  | EndCallsRequest
  | ({ readonly type: 'settled'; readonly id: string } & EndedCalls)
  | StatusQuestion
  | { readonly type: 'status'; readonly id: string; readonly known?: ReportedStatus | undefined }
  | { readonly type: 'leases_lost'; readonly from: string }
  /** The reply of a Mac to a request of another node. */
  | { readonly type: 'mac_reply'; readonly frame: ReachResultFrame }
  | ({ readonly type: 'list'; readonly id: string; readonly from: string } & MacQuery)
  | { readonly type: 'list_result'; readonly id: string; readonly macs: BoundMac[] };

/**
 * - `unproven`: Redis lost the lease, and a connection with a newer lease may still restore it.
 * - `late`: the request was read after its deadline. A node of an earlier version says `stale` instead.
 */
export type WriteResult = 'written' | 'stale' | 'overloaded' | 'unproven' | 'late';

const PREFIX = 8;

export interface BusCipher<Message = BusMessage> {
  seal(message: Message): Buffer;
  /** Returns undefined for bytes that were not sealed with the same secret for the same purpose. */
  open(sealed: Buffer): Message | undefined;
}

/**
 * Encrypts and authenticates messages between nodes with a key derived from the node secret: they carry texts and phone numbers, and any
 * client that can publish to Redis could otherwise send messages in the CRM's name.
 */
export function createBusCipher<Message = BusMessage>(
  nodeSecret: string,
  { purpose = 'bus v3', library = sodium }: { purpose?: string; library?: typeof sodium } = {},
): BusCipher<Message> {
  const key = Buffer.from(hkdfSync('sha256', nodeSecret, 'footbridge', purpose, 32));
  const box = createBox(key, library);
  const nextNonce = nonces();
  return {
    seal(message) {
      const plain = Buffer.from(JSON.stringify(message));
      const sealed = Buffer.allocUnsafe(NONCE + TAG + plain.length);
      nextNonce().copy(sealed);
      box.seal(partsOf(sealed), plain);
      return sealed;
    },
    open(sealed) {
      if (sealed.length < NONCE + TAG) return undefined;
      try {
        return JSON.parse(box.open(partsOf(sealed)).toString()) as Message;
      } catch {
        return undefined;
      }
    },
  };
}

/** Unique per key: a random prefix for this process, and a counter. */
function nonces(): () => Buffer {
  let prefix = randomBytes(PREFIX);
  let count = 0;
  return () => {
    if (count === 2 ** 32) {
      prefix = randomBytes(PREFIX);
      count = 0;
    }
    const nonce = Buffer.allocUnsafe(NONCE);
    prefix.copy(nonce);
    nonce.writeUInt32BE(count++, PREFIX);
    return nonce;
  };
}
