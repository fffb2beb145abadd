import type { StatusCode } from '@footbridge/protocol/codes';

/**
 * Describes Messages on this Mac by names, kinds and shares, for the record of a selftest. Contains no text, and no name, number or id of a
 * person.
 */
export interface MessagesShape {
  /** Returns the columns of the store by table. */
  tables(): Readonly<Record<string, readonly string[]>>;
  /** Returns the row of a message by column, or undefined when there is none. */
  row(guid: string): RowShape | undefined;
  /** Compares the chats in the store with the chats that Messages offers to programs. */
  liveChats(): Promise<LiveChats | ShapeFailure>;
  /** Resolves with the program whose permissions macOS checks for the agent, or with undefined when the log of macOS does not show it. */
  attribution(): Promise<Attribution | undefined>;
  /** Shows a message on the screen and describes the windows of Messages. Nothing is pressed. */
  windows(guid: string): Promise<WindowShape | ShapeFailure>;
}

export interface ShapeFailure {
  readonly state: 'failed';
  readonly code: StatusCode;
  readonly message: string;
}

/** Flags and codes by their value, other values by their kind. */
export type RowShape = Readonly<Record<string, number | 'number' | 'text' | 'bytes' | null>>;

export interface LiveChats {
  /** Percent of the chats in the store that Messages has under the same id. */
  readonly sameId: number;
  /** Percent of the live chats by the form of their id, for example `any;-;`. */
  readonly forms: Readonly<Record<string, number>>;
}

export interface Attribution {
  /** The identifier in its signature, for example `com.apple.Terminal`. */
  readonly program: string;
  /** Whether it belongs to Footbridge Agent.app. */
  readonly isApp: boolean;
}

export interface WindowShape {
  /** For example `en`. */
  readonly language: string | null;
  /** The labels that the agent looks for, in the language of the system. Null: this macOS does not have the label. */
  readonly labels: Readonly<Record<string, string | null>>;
  /** All elements but the list of conversations and the bubbles of other messages. */
  readonly elements: readonly ElementShape[];
}

export interface ElementShape {
  readonly depth: number;
  readonly role: string;
  readonly subrole?: string;
  readonly identifier?: string;
  /** The keys of its label in the tables of the system. Empty: its label is another text. */
  readonly labels?: readonly string[];
  readonly isSelected?: true;
  /** Titles by the keys of their labels. */
  readonly actions: readonly string[];
  readonly children: number;
}
