/** The pieces of a message that are footers, whole or in part. `footer.ts` says what they mean. */
export type Part = Footer | Trace;

/** Whole by its delimiters; whether its payload can be read is another question. */
export interface Footer {
  readonly kind: 'footer';
  readonly form: 'block' | 'sentinel';
  /** As written behind the `v`. */
  readonly version: string;
  /** What is cut when the footer is cut: whole lines for a footer that stands on lines of its own. */
  readonly start: number;
  readonly end: number;
  /** JSON for a block, base64 for a sentinel. */
  readonly payload: string;
}

/** A piece of a footer that is not whole. */
export interface Trace {
  readonly kind: 'trace';
  readonly start: number;
  readonly problem: string;
  /** A closing line: what belongs to it stands before it. */
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

/** All parts in their order, in one pass over the lines. */
export function findParts(message: string): Part[] {
  const tail = truncatedStart(message);
  if (!tail && !message.includes(NAME) && !message.includes(SENTINEL)) return [];
  const parts: Part[] = [];
  let open: { readonly line: Line; readonly version: string } | undefined;
  // Parts behind an opening line belong to its payload if it is closed, and to the text if it is not.
  let held: Part[] = [];
  const giveUpOpen = () => {
    if (open)
      parts.push({ kind: 'trace', start: open.line.start, problem: 'the footer is never closed' }, ...held);
    open = undefined;
    held = [];
  };
  for (const line of linesOf(message)) {
    const version = openedVersion(line.text);
    if (version !== undefined) {
      giveUpOpen();
      open = { line, version };
    } else if (line.text === CLOSING && open) {
      const payload = message.slice(open.line.next, line.start);
      parts.push({
        kind: 'footer',
        form: 'block',
        version: open.version,
        start: open.line.start,
        end: line.next,
        payload,
      });
      open = undefined;
      held = [];
    } else {
      (open ? held : parts).push(...partsWithin(line));
    }
  }
  giveUpOpen();
  if (tail) parts.push(tail);
  return parts;
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

function* linesOf(message: string): Generator<Line> {
  let start = 0;
  while (start < message.length) {
    const feed = message.indexOf('\n', start);
    const next = feed < 0 ? message.length : feed + 1;
    const raw = message.slice(start, feed < 0 ? next : feed);
    yield { start, next, raw, text: raw.trim() };
    start = next;
  }
}

function openedVersion(line: string): string | undefined {
  if (!line.startsWith(OPENING) || !line.endsWith(OPENING_END)) return undefined;
  const version = line.slice(OPENING.length, -OPENING_END.length);
  return version === '' || /\s/.test(version) ? undefined : version;
}

/** Sentinels and traces within a line that neither opens nor closes a block. */
function partsWithin(line: Line): Part[] {
  const parts = [...sentinelsWithin(line), ...tracesWithin(line)];
  return parts.length > 1 ? parts.sort((a, b) => a.start - b.start) : parts;
}

function* sentinelsWithin(line: Line): Generator<Part> {
  const [before = '', ...candidates] = line.raw.split(SENTINEL);
  let start = line.start + before.length;
  for (const candidate of candidates) {
    const close = candidate.indexOf(SENTINEL_END);
    const colon = candidate.indexOf(':');
    if (candidate.startsWith('v') && colon > 1 && colon < close) {
      const length = SENTINEL.length + close + SENTINEL_END.length;
      const ownLine = line.text.length === length;
      yield {
        kind: 'footer',
        form: 'sentinel',
        version: candidate.slice(1, colon),
        start: ownLine ? line.start : start,
        end: ownLine ? line.next : start + length,
        payload: candidate.slice(colon + 1, close),
      };
    } else {
      yield { kind: 'trace', start, problem: 'the sentinel of the footer is not whole' };
    }
    start += SENTINEL.length + candidate.length;
  }
}

function* tracesWithin(line: Line): Generator<Trace> {
  if (!line.text.includes(NAME)) return;
  const afterDashes = line.text.replace(LEADING_DASHES, '');
  if (afterDashes !== line.text && afterDashes.startsWith(`end ${NAME}`)) {
    yield {
      kind: 'trace',
      start: line.start,
      problem: 'the footer is closed but was never opened',
      closes: true,
    };
  } else if (afterDashes !== line.text && afterDashes.startsWith(NAME)) {
    yield { kind: 'trace', start: line.start, problem: 'the opening line of the footer is not whole' };
  } else {
    const joined = indexOfJoinedBlock(line.raw);
    if (joined >= 0)
      yield { kind: 'trace', start: line.start + joined, problem: 'the lines of the footer were joined' };
  }
}

/** Some editors turn `--` into a longer dash. */
const LEADING_DASHES = /^(?:--|[–—])[-–— \t]{0,8}/;

/** A sentence may mention the opening line; with an object right behind, it is a block which lost its line breaks. */
const JOINED = /^\S{1,16}\s{1,8}--\s{0,8}\{/;

function indexOfJoinedBlock(line: string): number {
  let at = line.indexOf(OPENING);
  while (at >= 0 && !JOINED.test(line.slice(at + OPENING.length, at + OPENING.length + 40))) {
    at = line.indexOf(OPENING, at + OPENING.length);
  }
  return at;
}

/** A message that was cut off within its opening line still shows what was to come. */
function truncatedStart(message: string): Trace | undefined {
  const problem = 'the message ends within the opening of a footer';
  const line = message.slice(message.lastIndexOf('\n') + 1);
  const opening = line.trim();
  if (opening.length >= '-- svc'.length && OPENING.startsWith(opening) && !opening.includes(NAME)) {
    return { kind: 'trace', start: message.length - line.length, problem };
  }
  for (let length = SENTINEL.length - 1; length >= '[[SV'.length; length -= 1) {
    if (message.endsWith(SENTINEL.slice(0, length)))
      return { kind: 'trace', start: message.length - length, problem };
  }
  return undefined;
}
