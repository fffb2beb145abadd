/** A complete or incomplete footer within a message. `footer.ts` documents the format. */
export type Part = Footer | Fragment;

/** A footer with both of its delimiters. Its payload may still be unreadable. */
export interface Footer {
  readonly kind: 'footer';
  readonly form: 'block' | 'sentinel';
  /** The text after the `v`. */
  readonly version: string;
  /** The range to cut. It covers entire lines if the footer shares none of them with other text. */
  readonly start: number;
  readonly end: number;
  /** JSON for a block, base64 for a sentinel. */
  readonly payload: string;
}

/** An incomplete footer. */
export interface Fragment {
  readonly kind: 'fragment';
  readonly start: number;
  readonly problem: string;
  /** Set for a closing line without an opening line: the rest of its footer precedes it. */
  readonly closes?: true;
}

export const CLOSING = '-- end svc-metadata --';
const OPENING = '-- svc-metadata:v';
const OPENING_END = ' --';
const NAME = 'svc-metadata';
const SENTINEL = '[[SVMD:';
const SENTINEL_END = ']]';

export function openingLine(version: number): string {
  return `${OPENING}${version}${OPENING_END}`;
}

export function sentinel(version: number, payload: string): string {
  return `${SENTINEL}v${version}:${payload}${SENTINEL_END}`;
}

/** Returns all parts in order, in one pass over the message. */
export function findParts(message: string): Part[] {
  const parts: Part[] = [];
  let open: { readonly line: Line; readonly version: string; readonly index: number } | undefined;
  for (const line of candidateLines(message)) {
    const version = openedVersion(line.text);
    if (version !== undefined) {
      open = { line, version, index: parts.length };
      parts.push({ kind: 'fragment', start: line.start, problem: 'the footer is never closed' });
    } else if (open && line.text === CLOSING) {
      // The block replaces the fragment of its opening line and any parts found in its payload.
      parts.length = open.index;
      parts.push(block(message, open.version, open.line, line));
      open = undefined;
    } else {
      for (const part of partsWithin(message, line)) parts.push(part);
    }
  }
  const tail = truncatedStart(message);
  if (tail) parts.push(tail);
  return parts;
}

function block(message: string, version: string, opening: Line, closing: Line): Footer {
  const payload = message.slice(opening.next, closing.start);
  return { kind: 'footer', form: 'block', version, start: opening.start, end: closing.next, payload };
}

interface Line {
  readonly start: number;
  /** Where the next line starts. */
  readonly next: number;
  /** Without its line feed. */
  readonly raw: string;
  /** Without the white space around it, a carriage return included. */
  readonly text: string;
}

/** Yields the lines that contain a delimiter of a footer and skips all others. */
function* candidateLines(message: string): Generator<Line> {
  let [name, sentinelAt] = [-1, -1];
  for (let from = 0; from < message.length;) {
    if (name < from) name = indexOrEnd(message, NAME, from);
    if (sentinelAt < from) sentinelAt = indexOrEnd(message, SENTINEL, from);
    const at = Math.min(name, sentinelAt);
    if (at === message.length) return;
    const start = message.lastIndexOf('\n', at) + 1;
    const end = indexOrEnd(message, '\n', at);
    const raw = message.slice(start, end);
    from = Math.min(end + 1, message.length);
    yield { start, next: from, raw, text: raw.trim() };
  }
}

function indexOrEnd(message: string, part: string, from: number): number {
  const index = message.indexOf(part, from);
  return index < 0 ? message.length : index;
}

function openedVersion(line: string): string | undefined {
  if (!line.startsWith(OPENING) || !line.endsWith(OPENING_END)) return undefined;
  const version = line.slice(OPENING.length, -OPENING_END.length);
  return version === '' || /\s/.test(version) ? undefined : version;
}

/** Returns the sentinels and fragments in a line that neither opens nor closes a block. */
function partsWithin(message: string, line: Line): Part[] {
  const sentinels = line.text.includes(SENTINEL) ? sentinelsWithin(line) : [];
  const fragment = line.text.includes(NAME) ? fragmentWithin(message, line) : undefined;
  return fragment ? [...sentinels, fragment].sort((a, b) => a.start - b.start) : sentinels;
}

function sentinelsWithin(line: Line): Part[] {
  const parts: Part[] = [];
  const [before = '', ...candidates] = line.raw.split(SENTINEL);
  let start = line.start + before.length;
  for (const candidate of candidates) {
    const close = candidate.indexOf(SENTINEL_END);
    const colon = candidate.indexOf(':');
    if (candidate.startsWith('v') && colon > 1 && colon < close) {
      const length = SENTINEL.length + close + SENTINEL_END.length;
      const ownLine = line.text.length === length;
      parts.push({
        kind: 'footer',
        form: 'sentinel',
        version: candidate.slice(1, colon),
        start: ownLine ? line.start : start,
        end: ownLine ? line.next : start + length,
        payload: candidate.slice(colon + 1, close),
      });
    } else {
      parts.push({ kind: 'fragment', start, problem: 'the sentinel of the footer is incomplete' });
    }
    start += SENTINEL.length + candidate.length;
  }
  return parts;
}

function fragmentWithin(message: string, line: Line): Fragment | undefined {
  const dashed = LEADING_DASHES.exec(line.text);
  const rest = dashed ? line.text.slice(dashed[0].length) : '';
  if (rest.startsWith(NAME)) {
    return { kind: 'fragment', start: line.start, problem: 'the opening line of the footer is incomplete' };
  }
  if (rest.startsWith(`end ${NAME}`)) {
    return {
      kind: 'fragment',
      start: line.start,
      problem: 'the footer is closed but was never opened',
      closes: true,
    };
  }
  const start = joinedBlock(message, line);
  return start === undefined
    ? undefined
    : { kind: 'fragment', start, problem: 'the line breaks of the footer were removed' };
}

/** Some editors replace `--` with an en dash or em dash. */
const LEADING_DASHES = /^(?:--|[–—])[-–— \t]{0,8}/;

/** An opening line within a sentence is text; followed by an object, it is a block that lost its line breaks. */
const JOINED = /^\S{1,16}\s{1,8}--\s{0,8}\{/;

const JOINED_REACH = 40;

function joinedBlock(message: string, line: Line): number | undefined {
  for (let at = line.raw.indexOf(OPENING); at >= 0; at = line.raw.indexOf(OPENING, at + 1)) {
    const version = line.start + at + OPENING.length;
    if (JOINED.test(message.slice(version, version + JOINED_REACH))) return line.start + at;
  }
  return undefined;
}

/** Returns a fragment if the message is truncated within the opening delimiter of a footer. */
function truncatedStart(message: string): Fragment | undefined {
  const problem = 'the message ends within the opening delimiter of a footer';
  const line = message.slice(message.lastIndexOf('\n') + 1);
  const opening = line.trim();
  if (opening.length >= '-- svc-'.length && OPENING.startsWith(opening) && !opening.includes(NAME)) {
    return { kind: 'fragment', start: message.length - line.length, problem };
  }
  for (let length = SENTINEL.length - 1; length >= '[[SV'.length; length -= 1) {
    if (message.endsWith(SENTINEL.slice(0, length)))
      return { kind: 'fragment', start: message.length - length, problem };
  }
  return undefined;
}
