import type { Messages } from '../../ports/messages/messages.ts';
import { verdictOf, TEST_TEXT } from './checks.ts';
import type { CheckResult } from './checks.ts';

export interface InterruptionDeps {
  readonly messages: Messages;
  /** Outlives the process. */
  readonly memory: { load(): string | undefined; save(value: string): void };
}

/**
 * Sends a text, and calls `kill` between the dispatch and the row. `kill` ends this process, so the promise resolves only when that moment
 * did not come.
 */
export async function interruptSend(
  to: string,
  kill: () => void,
  { messages, memory }: InterruptionDeps,
): Promise<CheckResult> {
  memory.save(JSON.stringify({ to, since: messages.store.position() }));
  const destination = { to: 'person', handle: to, service: 'iMessage' } as const;
  const result = await messages.send({ kind: 'text', text: TEST_TEXT }, destination, { onDispatched: kill });
  memory.save('');
  return result.state === 'delivered'
    ? { verdict: 'skipped', reason: 'this engine does not know when Messages gets a text' }
    : verdictOf(result);
}

/** Finds the outcome of the text that `interruptSend` sent in another process. */
export async function resolveInterruptedSend({ messages, memory }: InterruptionDeps): Promise<CheckResult> {
  const saved = memory.load() ?? '';
  if (saved === '') return { verdict: 'failed', reason: 'the restarted agent does not know of a send' };
  memory.save('');
  const { to, since } = JSON.parse(saved) as { to: string; since: number };
  const destination = { to: 'person', handle: to, service: 'iMessage' } as const;
  return verdictOf(await messages.outcomeOf({ kind: 'text', text: TEST_TEXT }, destination, since));
}
