import { printable } from '../output.ts';

/** A journal entry as returned by the operator API. */
export interface Message {
  readonly id: string;
  readonly direction: 'outbound' | 'inbound';
  readonly locationId: string;
  readonly messageId: string | null;
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

export const arrow = ({ direction }: { direction: string | null }): string =>
  direction === 'inbound' ? '←' : '→';

export const lengthOf = ({ length }: { length: number | null }): string =>
  length === null ? '' : `${length} chars`;

const pad = (value: number, size = 2) => String(value).padStart(size, '0');

/** Formats the local date. */
export function localDate(iso: string): string {
  const at = new Date(iso);
  return `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`;
}

/** Formats the local time of day. */
export function clock(iso: string, exact = false): string {
  const at = new Date(iso);
  const time = `${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}`;
  return exact ? `${time}.${pad(at.getMilliseconds(), 3)}` : time;
}

const STEPS: Readonly<Record<string, string>> = {
  accepted: 'accepted',
  rejected: 'rejected',
  written: "written to the Mac's socket",
  not_connected: 'no Mac connected',
  crm_told: 'status sent to the CRM',
  no_token: 'not sent to the CRM: the location has no token',
  crm_refused: 'not accepted by the CRM',
  mac_says: 'status received from the Mac',
  received: 'received from the Mac',
  contact_found: 'contact found',
  not_confirmed: 'not confirmed by the Mac',
  crm_took_it: 'accepted by the CRM',
  acknowledged: 'acknowledged to the Mac',
  looked_up: 'response lost, conversation read',
  uncertain: 'uncertain, response lost and conversation not readable',
  parked: 'parked on the Mac',
};

/** Describes a step and its details. */
export function describeStep({ step, detail }: Step): string {
  const facts = Object.entries(detail ?? {})
    .filter(([, value]) => value !== null && value !== '')
    .map(([name, value]) =>
      name === 'status' || name === 'code' ? String(value) : `${name} ${String(value)}`,
    );
  return printable([STEPS[step] ?? step, ...facts].join('  '));
}
