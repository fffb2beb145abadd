import './frameworks.ts';
import type { JxaAccessibility } from './jxa-accessibility.ts';
import { refuse } from './refuse.ts';
import type { ScreenLimits } from './screen-lines.ts';

declare const ObjC: JxaAccessibility['ObjC'];
declare const $: JxaAccessibility['$'];
declare const delay: JxaAccessibility['delay'];

/** Refuses unless macOS allows the agent to control the screen and the owner's session is the one on it, unlocked. */
export function requireSession(): void {
  if (!$.AXIsProcessTrusted()) refuse('not_trusted');
  const session = $.CGSessionCopyCurrentDictionary();
  if (ObjC.unwrap(session) === undefined) refuse('away');
  if (!ObjC.unwrap(session.objectForKey('kCGSSessionOnConsoleKey'))) refuse('away');
  if (ObjC.unwrap(session.objectForKey('CGSSessionScreenIsLocked'))) refuse('locked');
}

export function waitFor<T>(seconds: number, read: () => T | undefined): T | undefined {
  const deadline = Date.now() + seconds * 1000;
  for (;;) {
    const value = read();
    if (value !== undefined || Date.now() >= deadline) return value;
    delay(0.1);
  }
}

export function waitForOwner({ idleSec, idleWaitSec }: ScreenLimits): void {
  const HID_STATE = 1;
  const KEY_DOWN = 10;
  const isIdle = (): true | undefined =>
    $.CGEventSourceSecondsSinceLastEventType(HID_STATE, KEY_DOWN) >= idleSec ? true : undefined;
  if (waitFor(idleWaitSec, isIdle) === undefined) refuse('owner_active');
}
