import type { CallOrFrame, HttpExchange, Leg } from '../types.ts';

export interface Description {
  readonly title: string;
  readonly state: string;
  readonly note: string;
  readonly tone: 'good' | 'bad' | 'waiting' | 'plain';
  /** For screen readers, instead of the arrow. */
  readonly direction: string;
}

const DIRECTIONS: Record<Leg, string> = {
  'mac→service': 'from the Mac to Footbridge',
  'service→mac': 'from Footbridge to the Mac',
  'crm→service': 'from the CRM to Footbridge',
  'service→crm': 'from Footbridge to the CRM',
};

/** Returns a short description of a call or frame. */
export function describe(entry: CallOrFrame): Description {
  const direction = DIRECTIONS[entry.leg];
  if (entry.kind === 'frame') {
    const { state, tone } = frameState(entry.type, entry.text);
    return {
      title: entry.type,
      state,
      note: '',
      tone,
      direction,
    };
  }
  const title = `${entry.method} ${shortPath(entry.path)}`;
  const note = entry.ms === undefined ? '' : `${Math.round(entry.ms)} ms`;
  const state = httpState(entry);
  return { title, state, note, tone: httpTone(entry), direction };
}

function httpState({ status, path, requestBody, method }: HttpExchange): string {
  const messageStatus =
    method === 'PUT' && path.endsWith('/status') ? /"status":"(\w+)"/.exec(requestBody)?.[1] : undefined;
  const httpStatus = status === null ? 'no response' : status === undefined ? '…' : String(status);
  return messageStatus === undefined ? httpStatus : `${messageStatus} ${httpStatus}`;
}

function httpTone({ status }: HttpExchange): Description['tone'] {
  if (status === undefined) return 'waiting';
  return status !== null && status < 400 ? 'good' : 'bad';
}

function frameState(type: string, text: string): { state: string; tone: Description['tone'] } {
  if (type === 'close')
    return { state: text.split(' ')[0] ?? '', tone: text.startsWith('1') ? 'plain' : 'bad' };
  try {
    const { status, outcome, reaction }: Record<string, unknown> = JSON.parse(text);
    if (typeof status === 'string') return { state: status, tone: status === 'failed' ? 'bad' : 'good' };
    if (typeof outcome === 'string')
      return { state: outcome, tone: outcome === 'rejected' ? 'bad' : 'plain' };
    if (typeof reaction === 'object' && reaction !== null) return { state: 'reaction', tone: 'plain' };
  } catch {
    // Not JSON; its type is already 'unknown'.
  }
  return { state: '', tone: 'plain' };
}

/** Truncates ids in a path. */
const shortPath = (path: string): string =>
  (path.split('?')[0] ?? path)
    .replace(/^\/conversations\/messages\/([^/]+\/)?/, '…/')
    .replace(/\/([\w-]{12,})(?=\/|$)/g, (_whole, id: string) => `/${id.slice(0, 4)}…`);
