import { signal } from '@preact/signals';

/** The last error, shown to the user. */
export const notice = signal<string | undefined>(undefined);

/** Calls `POST /do/<action>`. Resolves to undefined and sets the notice if it fails. */
export async function postAction<T>(action: string, input: object): Promise<T | undefined> {
  try {
    const response = await fetch(`./do/${action}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(input),
    });
    const body = await response.json();
    if (response.ok) return body;
    notice.value = String(body.error);
  } catch {
    notice.value = 'The demo is not responding. Check that it is still running in the terminal.';
  }
  return undefined;
}
