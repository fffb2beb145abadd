export interface Message {
  readonly id: string;
  readonly direction: 'outbound' | 'inbound';
  readonly locationId: string;
  readonly messageId: string | null;
  readonly messageGuid: string | null;
  readonly kind: string;
  readonly phone: string | null;
  readonly length: number;
  readonly status: string;
  readonly code: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface Step {
  readonly at: string;
  readonly step: string;
  readonly detail: Readonly<Record<string, string | number | boolean | null>> | null;
}

export interface Request extends Message {
  /** Null unless the message passed while its location was captured. */
  readonly text: string | null;
  readonly steps: readonly Step[];
}

export interface History extends Request {
  readonly capturedUntil: string | null;
  readonly requests: readonly Request[];
}
