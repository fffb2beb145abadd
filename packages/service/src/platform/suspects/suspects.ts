/** A message, or a file of one, as it is recognised when it comes again. */
export interface MessageName {
  readonly kind: 'outbound' | 'inbound' | 'file';
  readonly locationId: string;
  /** The CRM's messageId, the GUID of an inbound message, or the hash of a file. */
  readonly id: string;
}

export interface SetAside extends MessageName {
  /** When it was last in work as a process ended. */
  readonly at: number;
}

export const SET_ASIDE = 'set_aside';

/**
 * Finds the message that ends the service, and sets it aside when it did so twice (I10).
 *
 * - What this process works on is named in a file. When the process dies, the next start of this node counts that for the message, and all
 *   nodes know it within two seconds. Waiting is not work: a process that is killed while a message waits for the CRM says nothing about it.
 * - `handle` runs the work for a message at once. One that ended a process is a suspect: it waits until this process has run for a while,
 *   so that the others go first, and suspects are handled one at a time. When it is handled, nothing is held against it any more. One that
 *   ended two processes is not handled: `handle` resolves with `set_aside`.
 * - `workOn` names the message again after a wait within `handle`.
 * - `setAside` sets a message aside that ended an agent twice. `release` ends that, so that it is handled when it comes again; resolves with
 *   false when it was not set aside.
 * - `setAside`, `release` and `list` reject with EngineError when the database is unavailable. `handle` then goes by what this node knows.
 */
export interface Suspects {
  handle<T>(message: MessageName, work: () => Promise<T>): Promise<T | typeof SET_ASIDE>;
  workOn(message: MessageName): void;
  setAside(message: MessageName): Promise<void>;
  release(message: MessageName): Promise<boolean>;
  /** Resolves with the messages that are set aside, the newest first. */
  list(): Promise<SetAside[]>;
  /** Forgets messages that ended no process since then. */
  prune(before: number): Promise<void>;
}
