import type { Exchange, HttpExchange, Leg } from '../shapes.ts';

export interface Described {
  readonly title: string;
  readonly state: string;
  readonly note: string;
  readonly tone: 'good' | 'bad' | 'waiting' | 'plain';
  /** For those who do not see the arrow. */
  readonly way: string;
}

const WAYS: Record<Leg, string> = {
  'mac→service': 'from the Mac to Footbridge',
  'service→mac': 'from Footbridge to the Mac',
  'crm→service': 'from the CRM to Footbridge',
  'service→crm': 'from Footbridge to the CRM',
};

/** An entry of the wire in a few words. */
export function describe(entry: Exchange): Described {
  const way = WAYS[entry.leg];
  if (entry.kind === 'frame') {
    const { state, tone } = frameState(entry.type, entry.text);
    return {
      title: entry.type,
      state,
      note: '',
      tone,
      way,
    };
  }
  const title = `${entry.method} ${shortPath(entry.path)}`;
  const note = entry.ms === undefined ? '' : `${Math.round(entry.ms)} ms`;
  const state = httpState(entry);
  return { title, state, note, tone: httpTone(entry), way };
}

function httpState({ status, path, requestBody, method }: HttpExchange): string {
  const told =
    method === 'PUT' && path.endsWith('/status') ? /"status":"(\w+)"/.exec(requestBody)?.[1] : undefined;
  const answer = status === null ? 'no answer' : status === undefined ? '…' : String(status);
  return told === undefined ? answer : `${told} ${answer}`;
}

function httpTone({ status }: HttpExchange): Described['tone'] {
  if (status === undefined) return 'waiting';
  return status !== null && status < 400 ? 'good' : 'bad';
}

function frameState(type: string, text: string): { state: string; tone: Described['tone'] } {
  if (type === 'close')
    return { state: text.split(' ')[0] ?? '', tone: text.startsWith('1') ? 'plain' : 'bad' };
  try {
    const { status, outcome, reaction }: Record<string, unknown> = JSON.parse(text);
    if (typeof status === 'string') return { state: status, tone: status === 'failed' ? 'bad' : 'good' };
    if (typeof outcome === 'string')
      return { state: outcome, tone: outcome === 'rejected' ? 'bad' : 'plain' };
    if (typeof reaction === 'object' && reaction !== null) return { state: 'reaction', tone: 'plain' };
  } catch {
    // Not JSON: its type says so already.
  }
  return { state: '', tone: 'plain' };
}

/** Ids in the middle of a path are long and say nothing at a glance. */
const shortPath = (path: string): string =>
  (path.split('?')[0] ?? path)
    .replace(/^\/conversations\/messages\/([^/]+\/)?/, '…/')
    .replace(/\/([\w-]{12,})(?=\/|$)/g, (_whole, id: string) => `/${id.slice(0, 4)}…`);
