import { scenarioState } from '../events.ts';
import { postAction } from '../post-action.ts';
import { running } from './running.ts';

/** Switches the CRM between its real behaviour, which ignores the key, and one that would honour it. */
export function IdempotencySwitch() {
  const isOn = scenarioState.value?.honoursIdempotencyKey === true;
  return (
    <label class="toggle" title="HighLevel ignores the key. The guarantees hold either way.">
      <input
        type="checkbox"
        role="switch"
        checked={isOn}
        disabled={scenarioState.value === undefined || running.value !== undefined}
        onChange={({ currentTarget }) => {
          const honoursIdempotencyKey = currentTarget.checked;
          // The server's state decides what is shown.
          currentTarget.checked = isOn;
          void postAction('crm', { honoursIdempotencyKey });
        }}
      />
      CRM honours <code>Idempotency-Key</code>
    </label>
  );
}
