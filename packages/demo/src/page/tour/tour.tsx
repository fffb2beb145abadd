import { computed, signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';

import { Icon } from '@footbridge/ui/icons';
import { STEPS } from './steps.ts';

const KEY = 'footbridge-tour';
const at = signal<number | undefined>(localStorage.getItem(KEY) === 'seen' ? undefined : 0);

/** The pane of the current step. */
export const shownPane = computed(() => (at.value === undefined ? undefined : STEPS[at.value]?.pane));
export const isOnTour = computed(() => at.value !== undefined);

export function startTour(): void {
  at.value = 0;
}

function endTour(): void {
  at.value = undefined;
  localStorage.setItem(KEY, 'seen');
}

/** A tour of eight steps. A completed step is checked off, but the user can always continue. */
export function Tour() {
  const index = at.value;
  const step = index === undefined ? undefined : STEPS[index];
  const count = step?.count?.() ?? 0;
  const [before, setBefore] = useState(count);
  useEffect(() => setBefore(step?.count?.() ?? 0), [index]);
  if (index === undefined || step === undefined) return null;
  const isLast = index === STEPS.length - 1;
  const isDone = count > before;
  return (
    <section
      class="tour"
      aria-label="Tour"
      onKeyDown={(event) => {
        if (event.key === 'Escape') endTour();
      }}
    >
      <span class="tour-number">
        {index + 1}
        <span class="visually-hidden"> of </span>
        <span aria-hidden="true">/</span>
        {STEPS.length}
      </span>
      <p class="tour-words" aria-live="polite">
        <strong>{step.title}</strong> <span>{step.text}</span>
        {isDone && (
          <span class="tour-done">
            <Icon name="check" /> Done
          </span>
        )}
      </p>
      <div class="tour-actions">
        <button
          type="button"
          class="text-button"
          disabled={index === 0}
          onClick={() => (at.value = index - 1)}
        >
          Back
        </button>
        <button
          type="button"
          class={isDone || step.count === undefined ? 'main-button' : 'text-button'}
          onClick={() => (isLast ? endTour() : (at.value = index + 1))}
        >
          {isLast ? 'Finish' : 'Next'}
        </button>
        <button type="button" class="quiet-button" aria-label="End the tour" onClick={endTour}>
          <Icon name="close" />
        </button>
      </div>
    </section>
  );
}
