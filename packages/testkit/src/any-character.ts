import * as fc from 'fast-check';

/**
 * Any code point, half surrogates included, with plain letters often enough: the unit of arbitrary strings.
 * fast-check's own unit `binary` takes seconds to prepare in every process that uses it.
 */
export const ANY_CHARACTER = fc
  .oneof(fc.nat(0x7f), fc.nat(0xffff), fc.nat(0x10ffff))
  .map((code) => String.fromCodePoint(code));
