/** A signed event of the CRM about the app or a contact. */
export interface AppEvent {
  readonly type: string;
  readonly locationId: string | null;
  readonly companyId: string | null;
  /** When it happened, by the CRM's clock; undefined when the event does not say. */
  readonly at: number | undefined;
  /** When the contact was changed last, by the CRM's clock. */
  readonly updatedAt: number | undefined;
  /** The body, not validated. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** The same bytes arrived within the last days. Without a time, the CRM may have repeated an event or sent a new one with the same content. */
  readonly isRepeat: boolean;
}

/** Resolves once the event is recorded. */
export type HandleAppEvent = (event: AppEvent) => Promise<void>;
