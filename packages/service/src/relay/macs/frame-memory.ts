/** A license takes at most this share of the free memory, so that other licenses have room. */
const SHARE_OF_FREE = 1 / 2;

export interface FrameLimits {
  /** Of one connection. */
  readonly perSession: number;
  /** Of all connections of this node. */
  readonly total: number;
}

/** Bounds the bytes of frames that Macs have sent and that are not acknowledged, while the CRM is slow (T53). */
export class FrameMemory {
  readonly #limits: FrameLimits;
  readonly #byLicense = new Map<string, number>();
  #held = 0;

  constructor(limits: FrameLimits) {
    this.#limits = limits;
  }

  /** Counts a frame of a session that holds `sessionBytes` already. Returns false when there is no room for it. */
  take(licenseId: string, sessionBytes: number, bytes: number): boolean {
    const license = (this.#byLicense.get(licenseId) ?? 0) + bytes;
    const { perSession, total } = this.#limits;
    if (sessionBytes + bytes > perSession || license > (total - this.#held) * SHARE_OF_FREE) return false;
    this.#byLicense.set(licenseId, license);
    this.#held += bytes;
    return true;
  }

  release(licenseId: string, bytes: number): void {
    const left = (this.#byLicense.get(licenseId) ?? 0) - bytes;
    if (left > 0) this.#byLicense.set(licenseId, left);
    else this.#byLicense.delete(licenseId);
    this.#held -= bytes;
  }
}
