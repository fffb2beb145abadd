/**
 * Preloaded into a program with `--import`: the process aborts when it serialises the text in FATAL_TEXT, or decodes bytes that contain it,
 * as with a defect in a native library.
 */
const fatal = process.env['FATAL_TEXT'] ?? '';

function check(text: unknown): void {
  if (typeof text === 'string' && text.includes(fatal)) process.abort();
}

if (fatal !== '') {
  JSON.stringify = new Proxy(JSON.stringify, {
    apply(stringify, self, given) {
      const text: unknown = Reflect.apply(stringify, self, given);
      check(text);
      return text;
    },
  });
  Buffer.prototype.toString = new Proxy(Buffer.prototype.toString, {
    apply(decode, self, given) {
      const text: unknown = Reflect.apply(decode, self, given);
      if (given[0] === 'latin1') check(text);
      return text;
    },
  });
}

/** The environment of a program that aborts at a text. */
export const endsAt = (text: string): Record<string, string> => ({
  FATAL_TEXT: text,
  NODE_OPTIONS: `--import=${import.meta.url}`,
});
