/** Takes the text of a message. Called for every message: the taker decides whether to keep the text. */
export type TakeText = (locationId: string, id: string, text: string) => void;

/** The texts of locations that the operator may read for a limited time. */
export interface TakenTexts {
  /** When the permission for a location ends, or undefined without one. */
  until(locationId: string): number | undefined;
  /** The text of a message, if it passed during the permission. */
  textOf(locationId: string, id: string): string | undefined;
}

export interface Texts extends TakenTexts {
  readonly take: TakeText;
}

/** No text is taken. */
export const NO_TEXTS: Texts = { take: () => {}, until: () => undefined, textOf: () => undefined };
