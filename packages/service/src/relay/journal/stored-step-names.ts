import type { StepName } from './journal.ts';

/**
 * Steps that the tables have under another name. Nodes of version 0.1.0 know only these names, and read and write the same tables during a
 * rolling upgrade.
 */
const STORED_NAMES: readonly (readonly [name: StepName, stored: string])[] = [
  ['status_sent', 'crm_told'],
  ['mac_reported', 'mac_says'],
  ['crm_accepted', 'crm_took_it'],
];
const STORED = new Map<string, string>(STORED_NAMES);
const NAMES = new Map<string, StepName>(STORED_NAMES.map(([name, stored]) => [stored, name]));

export const storedName = (step: StepName): string => STORED.get(step) ?? step;

/** Returns the name of a step in the tables. */
export const nameOfStored = (stored: string): StepName => NAMES.get(stored) ?? (stored as StepName);
