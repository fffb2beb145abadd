import type { Environment } from '../../ports/messages/messages.ts';
import { failed } from '../../outcome.ts';
import type { Failed } from '../../outcome.ts';

/** Reactions, effects and stickers use UI automation in most engines. Returns a failure unless the owner and macOS both allow it. */
export function checkUiAutomation(environment: Environment): Failed | undefined {
  if (environment.withoutScreen === true) return undefined;
  if (!environment.automation) {
    return failed(
      'UI_AUTOMATION_DISABLED',
      'Reactions, effects and stickers are disabled on this Mac (FOOTBRIDGE_UI_AUTOMATION).',
    );
  }
  if (!environment.accessibility) {
    return failed(
      'AX_DENIED',
      'The agent does not have the Accessibility permission. Grant it in System Settings, Privacy & Security.',
    );
  }
  return undefined;
}
