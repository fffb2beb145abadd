import './frameworks.ts';
import type { JxaAccessibility } from './jxa-accessibility.ts';
import { atEnd, runEndings } from './presses.ts';
import type { RefusalReason, ScreenLimits, ScreenLine } from './screen-lines.ts';
import { requireSession, waitForOwner } from './session.ts';
import { readInput, write } from './streams.ts';
import { messagesPid, requireOrder } from './windows.ts';

declare const $: JxaAccessibility['$'];

/** Runs the program: checks that it may, brings the previous application back to the front, and reports a refusal. */
export function run(work: (input: never) => void): void {
  const input = readInput() as { readonly limits: ScreenLimits };
  try {
    requireSession();
    messagesPid();
    waitForOwner(input.limits);
    const front = $.NSWorkspace.sharedWorkspace.frontmostApplication;
    atEnd(() => {
      const IGNORING_OTHER_APPS = 2;
      const current = $.NSWorkspace.sharedWorkspace.frontmostApplication;
      // Only if Messages came to the front because of the program.
      if (
        current.processIdentifier === messagesPid() &&
        front.processIdentifier !== current.processIdentifier
      )
        front.activateWithOptions(IGNORING_OTHER_APPS);
    });
    requireOrder();
    work(input as never);
  } catch (error) {
    const { reason } = error as { reason?: RefusalReason };
    write(
      (reason === undefined
        ? { step: 'error', number: 0 }
        : { step: 'refused', reason }) satisfies ScreenLine,
    );
  }
  runEndings();
}
