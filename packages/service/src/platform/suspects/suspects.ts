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

/** The outcome of a message that is set aside. */
export const SET_ASIDE = 'set_aside';
