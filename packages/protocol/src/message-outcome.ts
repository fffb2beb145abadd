import { codeEntry } from './codes.ts';

export interface MessageOutcome {
  readonly outcome: 'delivered' | 'not_delivered' | 'unknown';
  readonly sentence: string;
}

/** One request that carried the message, as the operator API returns it. */
export interface RequestOutcome {
  readonly direction: 'outbound' | 'inbound';
  readonly locationId: string;
  readonly status: string;
  readonly code: string | null;
}

/** Returns what became of a message over all requests that carried it, oldest first. */
export function messageOutcome(requests: readonly RequestOutcome[]): MessageOutcome {
  const last = requests.at(-1);
  return last?.direction === 'inbound' ? inboundOutcome(last) : outboundOutcome(requests);
}

const UNSETTLED = new Set(['accepted', 'written', 'pending']);

/** One delivery counts, whatever happened to the repeats: the Mac sends a messageId once. */
function outboundOutcome(requests: readonly RequestOutcome[]): MessageOutcome {
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
  const why = last?.code ? ` with ${last.code}` : '';
  return {
    outcome: 'not_delivered',
    sentence: `Not delivered: ${last?.status === 'rejected' ? 'rejected by the service' : 'failed'}${why}${placeOf(requests.length - 1, requests)}.`,
  };
}

const placeOf = (index: number, requests: readonly RequestOutcome[]): string =>
  requests.length === 1 ? '' : `, request ${index + 1} of ${requests.length}`;

function inboundOutcome({ locationId, status, code }: RequestOutcome): MessageOutcome {
  if (status === 'delivered')
    return {
      outcome: 'delivered',
      sentence: `Delivered: the CRM has it${code === 'UNCERTAIN' ? ', perhaps twice' : ''}.`,
    };
  if (status === 'received' && code === 'NO_TOKEN')
    return {
      outcome: 'unknown',
      sentence: `Not in the CRM yet: ${locationId} has no token. ${codeEntry(code, 'inbound')?.advice ?? ''}`,
    };
  if (status === 'received')
    return {
      outcome: 'unknown',
      sentence: 'Not in the CRM yet: the Mac keeps it until the CRM has accepted it.',
    };
  const why = code === null ? '' : `, ${code}`;
  return { outcome: 'not_delivered', sentence: `Not in the CRM: ${status}${why}.` };
}
