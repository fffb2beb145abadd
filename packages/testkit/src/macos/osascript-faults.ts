/** How the next `osascript` misbehaves. */
export type OsascriptFault =
  | 'hang_before'
  | 'hang_after'
  | 'killed_before'
  | 'killed_after'
  | 'garbage'
  | 'flood'
  | 'half_json'
  /** As `garbage` and `silent`, but the program does its work. */
  | 'garbage_after'
  | 'silent_after'
  | 'silent';

/** Faults of `osascript` itself, used up in order. */
export class OsascriptFaults {
  readonly #faults: OsascriptFault[] = [];

  add({ faults }: { faults: readonly OsascriptFault[] }): void {
    this.#faults.push(...faults);
  }

  take(): OsascriptFault | undefined {
    return this.#faults.shift();
  }
}
