import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, randomBytes } from 'node:crypto';

import type { CutReason, LineFrame, Occupant } from './switchboard.ts';

/** A frame for the Mac of a location, to the node that holds its socket. */
export interface Ask {
  readonly type: 'ask';
  readonly id: string;
  readonly from: string;
  readonly locationId: string;
  readonly epoch: number;
  /** In Redis's time: later than this nobody waits for the answer any more. */
  readonly notAfter: number;
  readonly frame: LineFrame;
}

/** That line lost the location. */
export interface Cut {
  readonly type: 'cut';
  readonly locationId: string;
  readonly sessionId: string;
  readonly reason: CutReason;
}

/** What nodes say to each other. */
export type BusMessage =
  | Ask
  | Cut
  | { readonly type: 'answer'; readonly id: string; readonly outcome: AskOutcome }
  | { readonly type: 'forgotten'; readonly from: string }
  | { readonly type: 'who'; readonly id: string; readonly from: string }
  | { readonly type: 'here'; readonly id: string; readonly occupants: Occupant[] };

/** `soon`: Redis had forgotten the lease, and somebody with a newer one may still show up. */
export type AskOutcome = 'written' | 'stale' | 'overloaded' | 'soon';

const NONCE = 12;
const PREFIX = 8;
const TAG = 16;

export interface BusCipher {
  seal(message: BusMessage): Buffer;
  /** Undefined for whatever was not sealed with the same secret. */
  open(sealed: Buffer): BusMessage | undefined;
}

/** Bus messages carry texts and phone numbers, and whoever can publish could send in a CRM's name: they are encrypted and authenticated by the node secret. */
export function createBusCipher(nodeSecret: string): BusCipher {
  const key = createSecretKey(Buffer.from(hkdfSync('sha256', nodeSecret, 'footbridge', 'bus v1', 32)));
  const nextNonce = nonces();
  return {
    seal(message) {
      const nonce = nextNonce();
      const cipher = createCipheriv('aes-256-gcm', key, nonce);
      const data = cipher.update(JSON.stringify(message), 'utf8');
      cipher.final();
      return Buffer.concat([nonce, cipher.getAuthTag(), data]);
    },
    open(sealed) {
      if (sealed.length < NONCE + TAG) return undefined;
      const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, NONCE));
      decipher.setAuthTag(sealed.subarray(NONCE, NONCE + TAG));
      try {
        const text =
          decipher.update(sealed.subarray(NONCE + TAG), undefined, 'utf8') + decipher.final('utf8');
        return JSON.parse(text) as BusMessage;
      } catch {
        return undefined;
      }
    },
  };
}

/** Never the same twice under one key: a random number for this process, and a count within it. */
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
