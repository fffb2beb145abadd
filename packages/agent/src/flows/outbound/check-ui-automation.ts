import type { Environment } from '../../ports/messages/messages.ts';
import { refused } from './outcome.ts';
import type { Refused } from './outcome.ts';

/** Reactions, effects and stickers are done with the screen's controls: the owner and macOS must both allow that. */
export function mayUseScreenControls(environment: Environment): Refused | undefined {
  if (!environment.automation) {
    return refused('UI_AUTOMATION_DISABLED', 'Reactions, effects and stickers are switched off on this Mac.');
  }
  if (!environment.accessibility) {
    return refused(
      'AX_DENIED',
      'The agent lacks the Accessibility permission: grant it in System Settings, Privacy & Security.',
    );
  }
  return undefined;
}
