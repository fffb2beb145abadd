/** Masks a handle so that only a person who knows it recognises it: `+1•••0100`, `j•••@e•••`. */
export function maskHandle(handle: string): string {
  const at = handle.indexOf('@');
  if (at > 0) return `${handle.slice(0, 1)}•••@${handle.slice(at + 1, at + 2)}•••`;
  const tail = handle.length > 8 ? handle.slice(-4) : handle.slice(-1);
  return `${handle.startsWith('+') ? handle.slice(0, 2) : ''}•••${tail}`;
}
