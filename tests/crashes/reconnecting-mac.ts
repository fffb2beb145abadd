import { activate, connectMac } from '@footbridge/testkit/mac';
import type { Mac, Received } from '@footbridge/testkit/mac';

interface Kept {
  readonly frame: Received | { requestId: string; messageId: string; status: 'delivered' };
  readonly seq: number;
  isSent: boolean;
}

/** The maximum number of unacknowledged frames. */
const WINDOW = 64;

/** A Mac that follows the protocol: it keeps unacknowledged frames, reconnects, and sends them again, oldest first. */
export class ReconnectingMac {
  readonly acks: { outcome: string; reason?: string | undefined }[] = [];
  readonly #url: string;
  readonly #token: string;
  readonly #locationId: string;
  #kept: Kept[] = [];
  #mac: Mac | undefined;
  #seq = 1;
  #stopped = false;
  #running: Promise<void> | undefined;

  constructor(url: string, token: string, locationId: string) {
    this.#url = url;
    this.#token = token;
    this.#locationId = locationId;
  }

  static async start(url: string, licenseKey: string, locationId: string): Promise<ReconnectingMac> {
    const { deviceToken = '' } = await activate(url, { licenseKey, deviceId: `mac-of-${locationId}` });
    const mac = new ReconnectingMac(url, deviceToken, locationId);
    mac.#running = mac.#stayConnected();
    return mac;
  }

  get unacknowledged(): number {
    return this.#kept.length;
  }

  get isConnected(): boolean {
    return this.#mac?.isOpen === true;
  }

  /** Breaks the socket. The Mac reconnects by itself. */
  cut(): void {
    this.#mac?.terminate();
  }

  keep(frame: Kept['frame']): void {
    this.#kept.push({ frame, seq: this.#seq++, isSent: false });
    this.#sendWindow();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#mac?.terminate();
    await this.#running;
  }

  #sendWindow(): void {
    if (this.#mac?.isOpen !== true) return;
    for (const kept of this.#kept.slice(0, WINDOW)) {
      if (kept.isSent) continue;
      kept.isSent = true;
      const { frame, seq } = kept;
      if ('sender' in frame) this.#mac.received({ ...frame, seq });
      else this.#mac.status({ ...frame, seq });
    }
  }

  async #stayConnected(): Promise<void> {
    while (!this.#stopped) {
      try {
        const mac = await connectMac(this.#url, { token: this.#token });
        await mac.register(this.#locationId);
        this.#mac = mac;
        for (const kept of this.#kept) kept.isSent = false;
        this.#sendWindow();
        const acks = this.#readAcks(mac);
        await mac.closed;
        await acks;
      } catch {
        // The service cannot be reached.
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  async #readAcks(mac: Mac): Promise<void> {
    for (;;) {
      try {
        const { seq, outcome, reason } = await mac.nextFrame('ack', 60_000);
        if (this.#kept.some((kept) => kept.seq === seq)) this.acks.push({ outcome, reason });
        this.#kept = this.#kept.filter((kept) => kept.seq !== seq);
        this.#sendWindow();
      } catch {
        if (!mac.isOpen) return;
      }
    }
  }
}
