import process from 'node:process';

/** Returns milliseconds on the monotonic clock, which all processes of a machine share. */
export const now = (): number => Number(process.hrtime.bigint()) / 1e6;

/** Returns the id of a message: `r7i12` is message 12 of run 7. */
export const messageId = (run: number, index: number): string => `r${run}i${index}`;

/** Returns the index of the message if the text contains an id of this run. */
export function indexOf(text: string, run: number): number | undefined {
  const [, ofRun, index] = /r(\d+)i(\d+)/.exec(text) ?? [];
  return Number(ofRun) === run ? Number(index) : undefined;
}

/** Returns a different phone number for every location. */
export const phoneOf = (locationId: string): string =>
  `+1415${String(2_000_000 + Number(/\d+$/.exec(locationId)?.[0] ?? 0)).padStart(7, '0')}`;

/** Returns the names of `count` locations, each of which has one Mac. */
export const locationNames = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `benchlocation${String(index).padStart(5, '0')}`);
