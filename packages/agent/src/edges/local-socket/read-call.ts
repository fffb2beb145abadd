import { readObject } from '@footbridge/protocol/read-json';

import type { SelftestOptions } from '../../flows/selftest/selftest.ts';
import { PERMISSIONS } from '../../ports/messages/messages.ts';
import type { Permission } from '../../ports/messages/messages.ts';

export type LocalCall =
  | { readonly call: 'report' }
  | { readonly call: 'stop' }
  | { readonly call: 'interruptSend'; readonly to: string }
  | { readonly call: 'resolveInterruptedSend' }
  | { readonly call: 'requestPermission'; readonly permission: Permission }
  | { readonly call: 'sendText'; readonly to: string; readonly text: string }
  | { readonly call: 'selftest'; readonly options: SelftestOptions };

/** Returns undefined for a line that is not a call. */
export function readCall(line: string): LocalCall | undefined {
  const fields = readObject(line);
  const text = (name: string): string | undefined => {
    const value = fields[name];
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const call = text('call');
  if (call === 'report' || call === 'stop' || call === 'resolveInterruptedSend') return { call };
  if (call === 'requestPermission') {
    const permission = PERMISSIONS.find((name) => name === fields['permission']);
    return permission === undefined ? undefined : { call, permission };
  }
  const to = text('to');
  const content = text('text');
  if (call === 'sendText')
    return to === undefined || content === undefined ? undefined : { call, to, text: content };
  if (call === 'interruptSend') return to === undefined ? undefined : { call, to };
  if (call !== 'selftest') return undefined;
  const group = Array.isArray(fields['group']) ? fields['group'].map(String) : undefined;
  return {
    call,
    options: {
      ...(to !== undefined && { to }),
      ...(group !== undefined && { group }),
      lock: fields['lock'] === true,
    },
  };
}
