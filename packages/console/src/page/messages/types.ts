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
  readonly steps: readonly Step[];
}

export interface History extends Request {
  readonly requests: readonly Request[];
}
