const STEPS: Record<string, number> = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

/** Moves the focus to the next or previous button on an arrow key, wrapping around. Returns whether it did. */
export function moveInside(event: KeyboardEvent): boolean {
  const { currentTarget, target, key } = event;
  const step = STEPS[key];
  if (step === undefined || !(currentTarget instanceof HTMLElement) || target instanceof HTMLInputElement)
    return false;
  const buttons = [...currentTarget.querySelectorAll<HTMLElement>('button:not([disabled])')];
  const at = buttons.findIndex((button) => button === target);
  buttons[(at + step + buttons.length) % buttons.length]?.focus();
  return true;
}
