import './frameworks.ts';
import type { JxaAccessibility, NativeObject } from './jxa-accessibility.ts';
import { refuse } from './refuse.ts';
import type { ScreenLine } from './screen-lines.ts';
import { requireSession } from './session.ts';
import { write } from './streams.ts';
import { messagesPid } from './windows.ts';

declare const $: JxaAccessibility['$'];

const endings: (() => void)[] = [];

/** Runs at the end, the newest first, also after a refusal. */
export const atEnd = (work: () => void): void => void endings.unshift(work);

export function runEndings(): void {
  for (const end of endings) {
    try {
      end();
    } catch {
      // Messages is gone, or the session is: there is nothing to put back.
    }
  }
}

export const perform = (element: NativeObject, action: string): boolean =>
  $.AXUIElementPerformAction(element, action) === 0;

/** Does the one thing that the program is for, once. `check` refuses when the element is no longer the intended one. */
function dispatch(check: () => void, work: () => number): void {
  requireSession();
  check();
  write({ step: 'dispatching' } satisfies ScreenLine);
  const code = work();
  write((code === 0 ? { step: 'dispatched' } : { step: 'error', number: code }) satisfies ScreenLine);
}

export const press = (element: NativeObject, action: string, check: () => void): void =>
  dispatch(check, () => $.AXUIElementPerformAction(element, action));

/** Refuses unless key presses go to Messages. */
export function requireFront(): void {
  const front = $.NSWorkspace.sharedWorkspace.frontmostApplication;
  if (front.processIdentifier !== messagesPid()) refuse('not_in_front');
}

export function pressReturn(check: () => void): void {
  const RETURN = 36;
  const HID_TAP = 0;
  const checkBoth = (): void => {
    check();
    requireFront();
  };
  dispatch(checkBoth, () => {
    for (const isDown of [true, false])
      $.CGEventPost(HID_TAP, $.CGEventCreateKeyboardEvent(null, RETURN, isDown));
    return 0;
  });
}

export const setText = (element: NativeObject, text: string): boolean =>
  $.AXUIElementSetAttributeValue(element, 'AXValue', text) === 0;

export const setFocused = (element: NativeObject): boolean =>
  $.AXUIElementSetAttributeValue(element, 'AXFocused', true) === 0;

export const setNumber = (element: NativeObject, value: number): boolean =>
  $.AXUIElementSetAttributeValue(element, 'AXValue', value) === 0;
