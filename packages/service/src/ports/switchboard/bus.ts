import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

import type { LineFrame, CutReason, Occupant } from './switchboard.ts';

/** What nodes say to each other. */
export type BusMessage =
  | {
      type: 'ask';
      id: string;
      from: string;
      locationId: string;
      epoch: number;
      notAfter: number;
      frame: LineFrame;
    }
  | { type: 'answer'; id: string; outcome: AskOutcome }
  | { type: 'cut'; locationId: string; sessionId: string; reason: CutReason }
  | { type: 'who'; id: string; from: string }
  | { type: 'here'; id: string; occupants: Occupant[] };

export type AskOutcome = 'written' | 'stale' | 'overloaded';

const NONCE = 12;
const TAG = 16;

export interface BusCipher {
  seal(message: BusMessage): Buffer;
  /** Undefined for whatever was not sealed with the same secret. */
  open(sealed: Buffer): BusMessage | undefined;
}

/** Bus messages carry texts and phone numbers, and whoever can publish could send in a CRM's name: they are encrypted and authenticated by the node secret. */
export function createBusCipher(nodeSecret: string): BusCipher {
  const key = Buffer.from(hkdfSync('sha256', nodeSecret, 'footbridge', 'bus v1', 32));
  return {
    seal(message) {
      const nonce = randomBytes(NONCE);
      const cipher = createCipheriv('aes-256-gcm', key, nonce);
      const data = Buffer.concat([cipher.update(JSON.stringify(message), 'utf8'), cipher.final()]);
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
