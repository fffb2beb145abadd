import type { StatusCode } from '@footbridge/protocol/codes';

/** How a send ended. An engine of Messages returns it, a job ends with it, the journal stores it, and a status frame reports it. */
export type Outcome<Code extends string = StatusCode, Guid = string> =
  /** The message has left the Mac. */
  { readonly state: 'delivered'; readonly guid: Guid } | Failed<Code> | Unknown<Code>;

/** A reaction has no guid of its own. The code of a job that ended earlier may come from another version of the agent. */
export type JobOutcome = Outcome<string, string | undefined>;

/** The person certainly did not receive the message. */
export interface Failed<Code extends string = StatusCode> {
  readonly state: 'failed';
  readonly code: Code;
  readonly message: string;
  /** The recipient is not on iMessage. Only after this failure can SMS be tried without risk of a duplicate. */
  readonly notOnIMessage?: true;
}

/** The person may have received the message. It is reported as a failure and never sent again. */
export interface Unknown<Code extends string = StatusCode> {
  readonly state: 'unknown';
  readonly code: Code;
  readonly message: string;
}

export function failed(code: StatusCode, message: string): Failed {
  return { state: 'failed', code, message };
}
