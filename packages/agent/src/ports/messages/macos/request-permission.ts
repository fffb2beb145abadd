import type { Permission, PermissionState, ServiceName } from '../messages.ts';
import type { Osascript } from './osascript.ts';
import { REQUEST_PERMISSION } from './bundled-programs.ts';
import type { PermissionInput, PermissionLine } from './programs/request-permission.ts';

/** A prompt of macOS must not be cut off, because macOS would count that as a denial. The prompt ends by itself after two minutes. */
const PROMPT_TIMEOUT_MS = 150_000;

export interface PermissionResult {
  readonly state: PermissionState;
  /** The services that Messages is signed in to, if the agent may ask. */
  readonly services?: readonly ServiceName[];
}

export async function requestPermission(
  permission: Permission,
  osascript: Pick<Osascript, 'run'>,
): Promise<PermissionResult> {
  const input: PermissionInput = { permission };
  const { lines } = await osascript.run(REQUEST_PERMISSION, input, PROMPT_TIMEOUT_MS);
  const line = lines.at(-1) as PermissionLine | undefined;
  if (line?.step !== 'granted') return { state: line?.step === 'denied' ? 'denied' : 'unknown' };
  return {
    state: 'granted',
    ...(line.services !== undefined && { services: line.services.filter(isService) }),
  };
}

const isService = (name: string): name is ServiceName => ['iMessage', 'SMS', 'RCS'].includes(name);
