import { STEP_WORDS, stepFacts } from '@footbridge/protocol/step-words';
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

/** Describes a step and its details. */
export function describeStep({ step, detail }: Step): string {
  return printable([STEP_WORDS[step] ?? step, ...stepFacts(detail)].join('  '));
}
