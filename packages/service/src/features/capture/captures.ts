/** Takes the text of a message. Called for every message: it does nothing unless the location is captured. */
export type CaptureText = (locationId: string, id: string, text: string) => void;

export interface Capture {
  readonly locationId: string;
  readonly until: number;
}

/**
 * The locations whose texts the operator may read for a limited time, and until when. The texts themselves are never stored.
 *
 * - `list` resolves with the captures that have not ended.
 * - Every method rejects with EngineError when the database is unavailable.
 */
export interface Captures {
  set(capture: Capture): Promise<void>;
  /** Resolves with whether the location was captured. */
  remove(locationId: string): Promise<boolean>;
  list(): Promise<Capture[]>;
}
