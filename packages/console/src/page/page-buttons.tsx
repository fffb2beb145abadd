import type { Signal } from '@preact/signals';

const firstPageText = (of: string) => `First page of ${of}`;
const nextPageText = (of: string) => `Next page of ${of}`;

interface PageButtonsProps {
  /** What the list has. */
  readonly of: string;
  /** The place after which the shown page begins. Undefined: the first page. */
  readonly after: Signal<string | undefined>;
  /** The place after which the next page begins. Undefined: there is none. */
  readonly next: string | undefined;
}

/** Buttons to the next page of a list and back to the first. None for a list of one page. */
export function PageButtons({ of, after, next }: PageButtonsProps) {
  if (after.value === undefined && next === undefined) return null;
  return (
    <p class="actions">
      {after.value !== undefined && (
        <button type="button" class="text-button" onClick={() => (after.value = undefined)}>
          {firstPageText(of)}
        </button>
      )}
      {next !== undefined && (
        <button type="button" class="text-button" onClick={() => (after.value = next)}>
          {nextPageText(of)}
        </button>
      )}
    </p>
  );
}
