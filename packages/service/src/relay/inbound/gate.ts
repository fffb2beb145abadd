import type { AckOutcome, MessageReceivedFrame } from '@footbridge/protocol/frames';

import type { Lease } from '../switchboard/switchboard.ts';

/** Delivers a message of a Mac to the CRM. */
export type Deliver = (lease: Lease, frame: MessageReceivedFrame) => Promise<AckOutcome>;
/** Wraps the delivery: it may hold a message up, but not change it. */
export type Gate = (deliver: Deliver) => Deliver;

export const OPEN: Gate = (deliver) => deliver;
