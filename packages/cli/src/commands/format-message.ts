import type { ResponseOf } from '@footbridge/protocol/operator/call';
import type { showMessage } from '@footbridge/protocol/operator/messages';
import { STEP_WORDS, stepFacts } from '@footbridge/protocol/step-words';
import { printable } from '@footbridge/runtime/printable';

type Step = ResponseOf<typeof showMessage>['steps'][number];

export const arrow = ({ direction }: { direction: string | null }): string =>
  direction === 'inbound' ? '←' : '→';

export const lengthOf = ({ length }: { length: number | null }): string =>
  length === null ? '' : `${length} chars`;

/** Describes a step and its details. */
export function describeStep({ step, detail }: Pick<Step, 'step' | 'detail'>): string {
  return printable([STEP_WORDS[step] ?? step, ...stepFacts(detail)].join('  '));
}
