import { codeEntry } from '@footbridge/protocol/codes';

import { printable } from '../output.ts';
import type { Message } from './format-message.ts';

export interface MessageOutcome {
  readonly outcome: 'delivered' | 'not_delivered' | 'unknown';
  readonly sentence: string;
}

type Request = Pick<Message, 'direction' | 'locationId' | 'status' | 'code'>;

/** Returns what became of a message over all requests that carried it, oldest first. */
export function messageOutcome(requests: readonly Request[]): MessageOutcome {
  const last = requests.at(-1);
  return last?.direction === 'inbound' ? inboundOutcome(last) : outboundOutcome(requests);
}

const UNSETTLED = new Set(['accepted', 'written', 'pending']);

/** One delivery counts, whatever happened to the repeats: the Mac sends a messageId once. */
function outboundOutcome(requests: readonly Request[]): MessageOutcome {
  const delivered = requests.findIndex(({ status }) => status === 'delivered');
  if (delivered !== -1)
    return { outcome: 'delivered', sentence: `Delivered${placeOf(delivered, requests)}.` };
  const unsettled = requests.findLastIndex(({ status }) => UNSETTLED.has(status));
  if (unsettled !== -1)
    return {
      outcome: 'unknown',
      sentence: `Not known yet: the Mac has not reported the outcome${placeOf(unsettled, requests)}.`,
    };
  const last = requests.at(-1);
  const why = last?.code ? ` with ${printable(last.code)}` : '';
  return {
    outcome: 'not_delivered',
    sentence: `Not delivered: ${last?.status === 'rejected' ? 'rejected by the service' : 'failed'}${why}${placeOf(requests.length - 1, requests)}.`,
  };
}

const placeOf = (index: number, requests: readonly Request[]): string =>
  requests.length === 1 ? '' : `, request ${index + 1} of ${requests.length}`;

function inboundOutcome({ locationId, status, code }: Request): MessageOutcome {
  if (status === 'delivered') return { outcome: 'delivered', sentence: 'Delivered: the CRM has it.' };
  if (status === 'received' && code === 'NO_TOKEN')
    return {
      outcome: 'unknown',
      sentence: `Not in the CRM yet: ${printable(locationId)} has no token. ${codeEntry(code, 'inbound')?.advice ?? ''}`,
    };
  if (status === 'received')
    return {
      outcome: 'unknown',
      sentence: 'Not in the CRM yet: the Mac keeps it until the CRM has accepted it.',
    };
  const why = code === null ? '' : `, ${printable(code)}`;
  return { outcome: 'not_delivered', sentence: `Not in the CRM: ${printable(status)}${why}.` };
}
