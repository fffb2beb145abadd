/** The response of `GET /operator/diagnosis`. */
export interface Diagnosis {
  readonly version: string;
  readonly uptimeSec: number;
  readonly settings: {
    readonly warnings: readonly string[];
    readonly oauth: 'ready' | 'incomplete' | 'disabled';
    readonly missing: readonly string[];
    readonly baseUrl: string | null;
    readonly crmHost: string;
    readonly conversationProviderId: string | null;
    readonly inboundType: string;
    readonly database: 'sqlite' | 'postgres';
    readonly nodes: 'one' | 'several';
  };
  readonly crm: ProbedAddress;
  readonly publicAddress: ProbedAddress & { readonly identity: 'this' | 'other' | 'unknown' };
}

export interface ProbedAddress {
  readonly url: string;
  /** 0 without a response. */
  readonly status: number;
  readonly ms: number;
  readonly code?: string;
  readonly clockSkewSec?: number | null;
}
