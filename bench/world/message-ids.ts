/** `r7i12` names message 12 of run 7; both ends of a measurement read the number back out of it. */
export function messageId(run: number, index: number): string {
  return `r${run}i${index}`;
}

const PATTERN = /r(\d+)i(\d+)/;

/** The index, when the text holds an id of this run. */
export function indexOf(text: string, run: number): number | undefined {
  const match = PATTERN.exec(text);
  return match !== null && Number(match[1]) === run ? Number(match[2]) : undefined;
}
