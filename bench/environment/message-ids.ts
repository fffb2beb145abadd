/** Returns the id of a message: `r7i12` is message 12 of run 7. */
export function messageId(run: number, index: number): string {
  return `r${run}i${index}`;
}

const PATTERN = /r(\d+)i(\d+)/;

/** Returns the index of the message if the text contains an id of this run. */
export function indexOf(text: string, run: number): number | undefined {
  const match = PATTERN.exec(text);
  return match !== null && Number(match[1]) === run ? Number(match[2]) : undefined;
}
