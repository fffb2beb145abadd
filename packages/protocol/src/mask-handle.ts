/**
 * Masks a phone number or email address for the journal and the operator: `+1•••0100`, `•••5`, `j•••@e•••`. The result
 * identifies a handle to a person who already knows it and reveals too little to contact it.
 */
export function maskHandle(handle: string): string {
  const at = handle.indexOf('@');
  if (at > 0) return `${handle.slice(0, 1)}•••@${handle.slice(at + 1, at + 2)}•••`;
  const tail = handle.length > 8 ? handle.slice(-4) : handle.slice(-1);
  return `${handle.startsWith('+') ? handle.slice(0, 2) : ''}•••${tail}`;
}
