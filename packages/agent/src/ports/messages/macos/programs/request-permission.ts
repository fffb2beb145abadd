import type { Jxa } from './jxa.ts';
import { readInput, write } from './streams.ts';

export interface PermissionInput {
  readonly permission: 'automation' | 'accessibility';
}

export type PermissionLine =
  | { readonly step: 'granted'; readonly services?: readonly string[] }
  | { readonly step: 'denied' }
  | { readonly step: 'error'; readonly number: number };

interface TrustCheck {
  AXIsProcessTrustedWithOptions(options: object): boolean;
}

declare const ObjC: Jxa['ObjC'] & {
  bindFunction(name: string, types: readonly [result: string, parameters: readonly string[]]): void;
};
declare const $: TrustCheck & ((value: object) => object);
declare const Application: Jxa['Application'];

const NOT_PERMITTED = -1743;

/** Makes macOS ask for a permission, or returns what was decided. */
function request({ permission }: PermissionInput): PermissionLine {
  if (permission === 'automation') {
    const connected = Application('Messages')
      .accounts()
      .filter((account) => account.enabled() && account.connectionStatus() === 'connected');
    return { step: 'granted', services: connected.map((account) => account.serviceType()) };
  }
  ObjC.import('ApplicationServices');
  ObjC.bindFunction('AXIsProcessTrustedWithOptions', ['bool', ['id']]);
  const isTrusted = $.AXIsProcessTrustedWithOptions($({ AXTrustedCheckOptionPrompt: true }));
  return { step: isTrusted ? 'granted' : 'denied' };
}

const input = readInput() as PermissionInput;
try {
  write(request(input));
} catch (error) {
  const number = (error as { errorNumber?: number }).errorNumber ?? 0;
  write((number === NOT_PERMITTED ? { step: 'denied' } : { step: 'error', number }) satisfies PermissionLine);
}
