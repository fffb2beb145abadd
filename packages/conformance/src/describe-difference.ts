/** Describes how a text was changed. Returns undefined if only surrounding white space or the kind of line breaks differs. */
export function describeDifference(sent: string, got: string): string | undefined {
  const wanted = normalised(sent);
  const seen = normalised(got);
  if (wanted === seen) return undefined;
  const change = KNOWN_CHANGES.find(({ apply }) => normalised(apply(wanted)) === seen);
  if (change !== undefined) return `the text was changed: ${change.name}`;
  const [letters, others] = [Array.from(wanted), Array.from(seen)];
  const at = letters.findIndex((letter, index) => others[index] !== letter);
  if (at === -1) return `the text has ${seen.length - wanted.length} additional characters at its end`;
  const first = `character ${at + 1} is ${codePoint(others[at])} instead of ${codePoint(letters[at])}`;
  return `the text was changed: ${wanted.length} units were sent and ${seen.length} arrived; ${first}`;
}

const codePoint = (letter: string | undefined): string =>
  letter === undefined ? 'missing' : `U+${(letter.codePointAt(0) ?? 0).toString(16).toUpperCase()}`;

const normalised = (text: string) => text.normalize('NFC').replaceAll('\r\n', '\n').trim();

const escapeHtml = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

const FOOTER = /\n?-- svc-metadata:v1 --[\s\S]*?-- end svc-metadata --/g;
const EMOJI = /\p{Extended_Pictographic}|\p{Emoji_Modifier}|\p{Regional_Indicator}|\u{200D}|\u{FE0F}/gu;

/** The most specific change first: several may produce the same text. */
const KNOWN_CHANGES: readonly { readonly name: string; readonly apply: (text: string) => string }[] = [
  { name: 'the footer is missing', apply: (text) => text.replace(FOOTER, '') },
  { name: 'line breaks became spaces', apply: (text) => text.replaceAll('\n', ' ') },
  { name: 'line breaks are missing', apply: (text) => text.replaceAll('\n', '') },
  { name: 'emoji are missing', apply: (text) => text.replace(EMOJI, '') },
  { name: 'emoji became question marks', apply: (text) => text.replace(EMOJI, '?') },
  {
    name: 'characters beyond U+FFFF are missing (MySQL: utf8 instead of utf8mb4)',
    apply: (text) => text.replace(/[\u{10000}-\u{10FFFF}]/gu, ''),
  },
  {
    name: 'characters beyond U+FFFF became question marks',
    apply: (text) => text.replace(/[\u{10000}-\u{10FFFF}]/gu, '?'),
  },
  {
    name: 'non-ASCII characters became question marks',
    apply: (text) => text.replace(/[^\t\n -~]/gu, '?'),
  },
  { name: 'non-ASCII characters are missing', apply: (text) => text.replace(/[^\t\n -~]/gu, '') },
  { name: 'it was escaped as HTML', apply: escapeHtml },
  { name: 'it was escaped as HTML', apply: (text) => escapeHtml(text).replaceAll('&quot;', '"') },
  { name: 'HTML tags are missing', apply: (text) => text.replaceAll(/<[^>]*>/g, '') },
  { name: 'typographic quotes became straight ones', apply: (text) => text.replaceAll(/[“”]/g, '"') },
];
