const SLASH = '/';

/**
 * Returns the first link in a text, without its protocol and trailing slashes, or undefined without a link. Customers control the text, so
 * this takes linear time, unlike a pattern such as `/+$`.
 */
export function linkIn(text: string): string | undefined {
  const link = /(?:https?:\/\/|www\.)(\S+)/i.exec(text)?.[1];
  if (link === undefined) return undefined;
  let end = link.length;
  while (end > 0 && link[end - 1] === SLASH) end--;
  return link.slice(0, end).toLowerCase();
}
