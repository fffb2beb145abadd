/** A pairing code as the operator gives it: `K7QF-3M9X@bridge.example.com`. */
export interface TypedPairingCode {
  readonly code: string;
  /** Absent when only the code was typed. */
  readonly url?: string;
}

/** Returns undefined when the text cannot be a pairing code. */
export function readPairingCode(typed: string): TypedPairingCode | undefined {
  const [code = '', ...rest] = typed.trim().split('@');
  if (!/^[0-9a-z]{4}[\s\p{Pd}]?[0-9a-z]{4}$/iu.test(code.trim())) return undefined;
  const address = rest.join('@');
  if (address === '') return rest.length === 0 ? { code } : undefined;
  const url = readAddress(address);
  return url === undefined ? undefined : { code, url };
}

/** Returns the address of a service that was typed with or without `https://`, or undefined when the text is not an address. */
export function readAddress(typed: string): string | undefined {
  const text = typed.trim();
  if (text === '') return undefined;
  const url = URL.parse(/^https?:\/\//.test(text) ? text : `https://${text}`);
  return url?.href.replace(/\/+$/, '');
}
