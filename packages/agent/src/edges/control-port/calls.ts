import { codeEntry } from '@footbridge/protocol/codes';
import type { StatusCode } from '@footbridge/protocol/codes';
import type { ClassicType } from '@footbridge/protocol/metadata';

import { BadCall, Body, classicType } from './json-body.ts';

interface FileGiven {
  readonly name: string;
  readonly mime: string;
  readonly bytes: Uint8Array;
  readonly delayMs?: number;
}

type Service = 'iMessage' | 'SMS' | 'RCS';
type Locale = 'en' | 'nl';

/** The simulated world, as far as it can be played from outside. */
export interface World {
  /** What `GET /world` answers. */
  view(): unknown;
  change(change: {
    readonly macos?: string;
    readonly permissions?: { readonly accessibility?: boolean; readonly automation?: boolean };
    readonly delayMs?: number;
    readonly faults?: readonly Fault[];
  }): void;
  readonly people: People;
}

interface People {
  say(
    handle: string,
    saying: {
      readonly text?: string;
      readonly chatId?: number;
      readonly service?: Service;
      readonly effect?: string;
      readonly replyTo?: string;
      readonly attachments?: readonly FileGiven[];
      readonly voice?: FileGiven & { readonly durationMs: number };
    },
  ): { readonly guid: string; readonly chatId: number };
  react(handle: string, reacting: Reacting): { readonly guid: string };
  sticker(
    handle: string,
    file: FileGiven,
    chatId?: number,
  ): { readonly guid: string; readonly chatId: number };
  edit(handle: string, guid: string, text: string): void;
  unsend(handle: string, guid: string): void;
  leave(handle: string, chatId: number): void;
  change(handle: string, change: { readonly imessage: boolean }): void;
  group(recipients: readonly string[], service?: Service): { readonly chatId: number };
}

type Reacting = {
  readonly targetGuid: string;
  readonly action: 'add' | 'remove';
  readonly locale?: Locale;
} & (
  | { readonly kind: 'classic'; readonly type: ClassicType }
  | { readonly kind: 'emoji'; readonly emoji: string }
  | { readonly kind: 'sticker'; readonly sticker?: FileGiven }
);

const JOBS = ['text', 'attachment', 'animation', 'voice', 'reaction', 'sticker'] as const;
type Job = (typeof JOBS)[number];

interface Fault {
  readonly job: Job;
  readonly code: StatusCode | 'OUTCOME_UNKNOWN';
  readonly times: number;
}
const SERVICES = ['iMessage', 'SMS', 'RCS'] as const;
const OUTCOME_UNKNOWN = 'OUTCOME_UNKNOWN';
const DONE = { ok: true };

/** Undefined: there is no such call. */
export function answerCall(method: string, path: readonly string[], json: unknown, world: World): unknown {
  const [first, handle, verb] = path;
  if (method === 'GET' && first === 'world' && path.length === 1) return world.view();
  if (method !== 'POST') return undefined;
  const body = new Body(json);
  if (first === 'world' && path.length === 1) return changeWorld(body, world);
  if (first === 'groups' && path.length === 1) return makeGroup(body, world.people);
  if (first !== 'people' || handle === undefined || path.length > 3) return undefined;
  return personDoes(handle, verb, body, world.people);
}

function personDoes(handle: string, verb: string | undefined, body: Body, people: People): unknown {
  if (verb === undefined) {
    people.change(handle, { imessage: body.flag('imessage') });
    return DONE;
  }
  if (verb === 'say') return people.say(handle, readSaying(body));
  if (verb === 'react') return people.react(handle, readReacting(body));
  if (verb === 'sticker') {
    return people.sticker(handle, readFile(body), body.has('chatId') ? body.whole('chatId') : undefined);
  }
  if (verb === 'edit') {
    people.edit(handle, body.text('guid'), body.text('text'));
    return DONE;
  }
  if (verb === 'unsend') {
    people.unsend(handle, body.text('guid'));
    return DONE;
  }
  if (verb === 'leave') {
    people.leave(handle, body.whole('chatId'));
    return DONE;
  }
  return undefined;
}

function changeWorld(body: Body, world: World): unknown {
  world.change({
    ...body.optional('macos', (name) => readMacos(body.text(name))),
    ...body.optional('permissions', (name) => {
      const permissions = body.object(name);
      return {
        ...permissions.optional('accessibility', (field) => permissions.flag(field)),
        ...permissions.optional('automation', (field) => permissions.flag(field)),
      };
    }),
    ...body.optional('delayMs', (name) => body.whole(name)),
    ...body.optional('faults', (name) => body.list(name, readFault)),
  });
  return world.view();
}

function readMacos(text: string): string {
  if (!/^(1[2-9]|[2-9]\d)(\.\d{1,3}){0,2}$/.test(text)) {
    throw new BadCall('macos must be a version from 12 to 99, such as 26.1');
  }
  return text;
}

function readFault(value: unknown, place: string): Fault {
  const fault = new Body(value, place);
  const code = fault.text('code');
  if (code !== OUTCOME_UNKNOWN && !isStatusCode(code)) {
    throw new BadCall(`${place}.code must be a code of a status update, or ${OUTCOME_UNKNOWN}`);
  }
  return { job: fault.oneOf('job', JOBS), code, times: fault.has('times') ? fault.whole('times') : 1 };
}

function isStatusCode(code: string): code is StatusCode {
  return codeEntry(code, 'status') !== undefined;
}

function makeGroup(body: Body, people: People): unknown {
  const recipients = body.list('recipients', (value, place) => {
    if (typeof value !== 'string' || value === '') throw new BadCall(`${place} must be a handle`);
    return value;
  });
  return people.group(recipients, body.has('service') ? body.oneOf('service', SERVICES) : undefined);
}

function readSaying(body: Body): Parameters<People['say']>[1] {
  return {
    ...body.optional('text', (name) => body.text(name)),
    ...body.optional('chatId', (name) => body.whole(name)),
    ...body.optional('service', (name) => body.oneOf(name, SERVICES)),
    ...body.optional('effect', (name) => body.text(name)),
    ...body.optional('replyTo', (name) => body.text(name)),
    ...body.optional('attachments', (name) =>
      body.list(name, (value, place) => readFile(new Body(value, place))),
    ),
    ...body.optional('voice', (name) => {
      const voice = body.object(name);
      return { ...readFile(voice), durationMs: voice.whole('durationMs') };
    }),
  };
}

function readReacting(body: Body): Reacting {
  const common = {
    targetGuid: body.text('targetGuid'),
    action: body.oneOf('action', ['add', 'remove'] as const),
    ...body.optional('locale', (name) => readLocale(body.text(name))),
  };
  const kind = body.oneOf('kind', ['classic', 'emoji', 'sticker'] as const);
  if (kind === 'classic') return { ...common, kind, type: classicType(body) };
  if (kind === 'emoji') return { ...common, kind, emoji: body.text('emoji') };
  if (common.action === 'add' && !body.has('sticker')) throw new BadCall('sticker must be an object');
  return { ...common, kind, ...body.optional('sticker', (name) => readFile(body.object(name))) };
}

/** `nl`, `nl-NL` and `nl_BE` are Dutch; whatever is not known is English, as on a Mac. */
function readLocale(text: string): Locale {
  return /^nl\b|^nl_/i.test(text) ? 'nl' : 'en';
}

function readFile(body: Body): FileGiven {
  const base64 = body.text('base64');
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.byteLength === 0) throw new BadCall('base64 must hold at least one byte');
  return {
    name: body.text('name'),
    mime: body.text('mime'),
    bytes,
    ...body.optional('delayMs', (name) => body.whole(name)),
  };
}
