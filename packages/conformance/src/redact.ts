import { printable } from '@footbridge/runtime/printable';

const MAX_EXCERPT = 240;
/** Names of JSON fields, headers and query parameters whose values are usually secrets. */
const SECRET_FIELD =
  /(["']?[\w-]*(?:token|secret|password|passwd|authorization|api[_-]?key|cookie)["']?\s*[:=]\s*["']?(?:Bearer\s+)?)[^"'\s,;&}]+/gi;
const BEARER = /Bearer\s+\S+/gi;
const JWT = /\beyJ[\w-]{5,}\.[\w-]+(?:\.[\w-]*)?/g;
const PHONE = /\+?\d[\d ().-]{6,}\d/g;
const EMAIL = /[^\s"'<>@]+@[^\s"'<>@]+\.[a-z]{2,}/gi;

/** Removes secrets, phone numbers and email addresses from text that a report quotes. */
export type Redact = (text: string) => string;

/** `secrets` are removed wherever they occur. */
export function createRedact(secrets: readonly string[]): Redact {
  const known = secrets.filter((secret) => secret !== '');
  return (text) => {
    let clean = text;
    for (const secret of known) clean = clean.replaceAll(secret, '…');
    return clean
      .replace(SECRET_FIELD, '$1…')
      .replace(BEARER, 'Bearer …')
      .replace(JWT, '…')
      .replace(EMAIL, '…@…')
      .replace(PHONE, (digits) => (digits.replaceAll(/\D/g, '').length < 8 ? digits : '•••'));
  };
}

/** Returns the start of a text, on one line. */
export function excerpt(text: string, max = MAX_EXCERPT): string {
  const line = printable(text.replaceAll(/\s+/g, ' ').trim());
  return line.length <= max ? line : `${line.slice(0, max)}…`;
}
