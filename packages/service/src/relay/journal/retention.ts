/** How long the data of a location is kept. Null: as long as the settings of the service say. */
export interface RetentionDays {
  readonly journalDays: number | null;
  readonly assetDays: number | null;
}

/** The locations whose data is kept for another time than the settings of the service say. */
export interface Retention {
  of(locationId: string): Promise<RetentionDays>;
  list(): Promise<readonly (RetentionDays & { readonly locationId: string })[]>;
}

const NONE: RetentionDays = { journalDays: null, assetDays: null };

export const AS_IN_SETTINGS: Retention = { of: async () => NONE, list: async () => [] };
