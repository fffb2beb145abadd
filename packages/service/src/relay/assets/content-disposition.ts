/** RFC 6266: an ASCII name for old clients and, when it differs, the exact name in UTF-8. */
export function contentDisposition(disposition: 'inline' | 'attachment', name: string): string {
  const plain = name.replace(/[^\x20-\x7e]|["\\%]/g, '_');
  const header = `${disposition}; filename="${plain}"`;
  return plain === name ? header : `${header}; filename*=UTF-8''${encodeExtValue(name)}`;
}

/** RFC 8187 allows fewer characters than `encodeURIComponent` leaves unescaped. */
const encodeExtValue = (name: string) =>
  encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
