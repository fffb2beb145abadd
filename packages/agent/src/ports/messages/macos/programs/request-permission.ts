import type { Jxa } from './jxa.ts';

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
declare const $: Jxa['$'] & TrustCheck & ((value: object) => object);
declare const Application: Jxa['Application'];

/**
 * Makes macOS ask for a permission, or reports what was decided. Runs inside `osascript`: it must not refer to anything outside of
 * itself, and may use ES2021 only.
 */
export function requestPermissionProgram(): void {
  const UTF8 = 4;
  const NOT_PERMITTED = -1743;
  ObjC.import('Foundation');
  const write = (line: PermissionLine): void => {
    const text = $.NSString.stringWithString(`${JSON.stringify(line)}\n`);
    $.NSFileHandle.fileHandleWithStandardOutput.writeData(text.dataUsingEncoding(UTF8));
  };
  const data = $.NSFileHandle.fileHandleWithStandardInput.readDataToEndOfFile;
  const input = JSON.parse(
    String(ObjC.unwrap($.NSString.alloc.initWithDataEncoding(data, UTF8))),
  ) as PermissionInput;
  try {
    if (input.permission === 'automation') {
      const connected = Application('Messages')
        .accounts()
        .filter((account) => account.enabled() && account.connectionStatus() === 'connected');
      write({ step: 'granted', services: connected.map((account) => account.serviceType()) });
      return;
    }
    ObjC.import('ApplicationServices');
    ObjC.bindFunction('AXIsProcessTrustedWithOptions', ['bool', ['id']]);
    const trusted = $.AXIsProcessTrustedWithOptions($({ AXTrustedCheckOptionPrompt: true }));
    write({ step: trusted ? 'granted' : 'denied' });
  } catch (error) {
    const number = (error as { errorNumber?: number }).errorNumber ?? 0;
    write(number === NOT_PERMITTED ? { step: 'denied' } : { step: 'error', number });
  }
}
