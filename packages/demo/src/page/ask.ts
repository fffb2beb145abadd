import { signal } from '@preact/signals';

/** The last thing that went wrong, for people to read. */
export const notice = signal<string | undefined>(undefined);

/** Plays a person: `POST /do/<action>`. Undefined when it could not be done; then the notice says why. */
export async function ask<T>(action: string, wish: object): Promise<T | undefined> {
  try {
    const answer = await fetch(`./do/${action}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(wish),
    });
    const said = await answer.json();
    if (answer.ok) return said;
    notice.value = String(said.error);
  } catch {
    notice.value = 'The demo does not answer. Is it still running in the terminal?';
  }
  return undefined;
}
