import { signal } from '@preact/signals';

const STORED = 'footbridge-shortcuts';

/** Whether keys without a modifier act. Speech input types letters, so a user can turn them off. */
export const hasShortcuts = signal(localStorage.getItem(STORED) !== 'no');

export function toggleShortcuts(): void {
  hasShortcuts.value = !hasShortcuts.value;
  localStorage.setItem(STORED, hasShortcuts.value ? 'yes' : 'no');
}

document.addEventListener('keydown', (event) => {
  const hasModifier = event.ctrlKey || event.metaKey || event.altKey;
  if (!hasShortcuts.value || hasModifier || isTyping(event) || isDialogOpen()) return;
  if (event.key === 'j') moveBy(1);
  else if (event.key === 'k') moveBy(-1);
  else if (!activate(event.key)) return;
  event.preventDefault();
});

const isTyping = ({ target, isComposing }: KeyboardEvent): boolean =>
  isComposing || (target instanceof Element && target.closest('input, select, textarea') !== null);

const isDialogOpen = (): boolean => document.querySelector('dialog[open]') !== null;

/** Moves the focus between the links with `data-row`; from elsewhere to the first one on the screen. */
function moveBy(step: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>('[data-row]')];
  const current = rows.findIndex((row) => row === document.activeElement);
  const next =
    current === -1 ? rows.find((row) => row.getBoundingClientRect().top >= 0) : rows[current + step];
  next?.focus();
}

/** Clicks the button, or focuses the field, whose `aria-keyshortcuts` is this key. Returns false if there is none. */
function activate(key: string): boolean {
  const element = document.querySelector<HTMLElement>(`[aria-keyshortcuts="${CSS.escape(key)}"]`);
  if (element instanceof HTMLButtonElement) element.click();
  else element?.focus();
  return element !== null;
}
