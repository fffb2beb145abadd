import { codeEntry } from '@footbridge/protocol/codes';
import type { StatusCode } from '@footbridge/protocol/codes';
import { CLASSIC_TYPES } from '@footbridge/protocol/metadata';

import { BadRequestError, JsonBody } from './json-body.ts';
import { isMacosVersion, JOB_KINDS, MACOS_VERSION_RULE, OUTCOME_UNKNOWN } from './simulation.ts';
import type {
  Fault,
  People,
  PersonMessage,
  PersonReaction,
  SimulatedFile,
  Simulation,
} from './simulation.ts';
import type { TapbackLocale } from './tapback-texts.ts';

const SERVICES = ['iMessage', 'SMS', 'RCS'] as const;
const DONE = { ok: true };

/** Handles one call and returns the body of its response, or undefined when there is no such call. */
export function handleCall(
  method: string,
  path: readonly string[],
  json: unknown,
  simulation: Simulation,
): unknown {
  const isWorld = path[0] === 'world' && path.length === 1;
  if (method === 'GET' && isWorld) return simulation.view();
  if (method !== 'POST') return undefined;
  const body = new JsonBody(json);
  return isWorld ? changeSimulation(body, simulation) : playPeople(path, body, simulation.people);
}

/** Handles the calls about people. */
export function playPeople(path: readonly string[], body: JsonBody, people: People): unknown {
  const [first, handle, verb] = path;
  if (first === 'groups' && path.length === 1) return createGroup(body, people);
  if (first !== 'people' || handle === undefined || path.length > 3) return undefined;
  return playPerson(handle, verb, body, people);
}

function playPerson(handle: string, verb: string | undefined, body: JsonBody, people: People): unknown {
  if (verb === undefined) {
    people.change(handle, { imessage: body.boolean('imessage') });
    return DONE;
  }
  if (verb === 'say') return people.say(handle, readMessage(body));
  if (verb === 'hear') return people.hear(handle, body.text('text'));
  if (verb === 'react') return people.react(handle, readReaction(body));
  if (verb === 'sticker') {
    return people.sticker(handle, readFile(body), body.has('chatId') ? body.integer('chatId') : undefined);
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
    people.leave(handle, body.integer('chatId'));
    return DONE;
  }
  return undefined;
}

function changeSimulation(body: JsonBody, simulation: Simulation): unknown {
  simulation.change({
    ...body.optional('macos', (name) => readMacos(body.text(name))),
    ...body.optional('permissions', (name) => {
      const permissions = body.object(name);
      return {
        ...permissions.optional('accessibility', (field) => permissions.boolean(field)),
        ...permissions.optional('automation', (field) => permissions.boolean(field)),
      };
    }),
    ...body.optional('delayMs', (name) => body.integer(name)),
    ...body.optional('faults', (name) => body.list(name, readFault)),
  });
  return simulation.view();
}

function readMacos(text: string): string {
  if (!isMacosVersion(text)) throw new BadRequestError(`macos ${MACOS_VERSION_RULE}`);
  return text;
}

function readFault(value: unknown, place: string): Fault {
  const fault = new JsonBody(value, place);
  const code = fault.text('code');
  if (code !== OUTCOME_UNKNOWN && !isStatusCode(code)) {
    throw new BadRequestError(`${place}.code must be a status code or ${OUTCOME_UNKNOWN}`);
  }
  return { job: fault.oneOf('job', JOB_KINDS), code, times: fault.has('times') ? fault.integer('times') : 1 };
}

function isStatusCode(code: string): code is StatusCode {
  return codeEntry(code, 'status') !== undefined;
}

function createGroup(body: JsonBody, people: People): unknown {
  const recipients = body.list('recipients', (value, place) => {
    if (typeof value !== 'string' || value === '') throw new BadRequestError(`${place} must be a handle`);
    return value;
  });
  return people.group(recipients, body.has('service') ? body.oneOf('service', SERVICES) : undefined);
}

function readMessage(body: JsonBody): PersonMessage {
  return {
    ...body.optional('text', (name) => body.text(name)),
    ...body.optional('chatId', (name) => body.integer(name)),
    ...body.optional('service', (name) => body.oneOf(name, SERVICES)),
    ...body.optional('effect', (name) => body.text(name)),
    ...body.optional('replyTo', (name) => body.text(name)),
    ...body.optional('attachments', (name) =>
      body.list(name, (value, place) => readFile(new JsonBody(value, place))),
    ),
    ...body.optional('voice', (name) => {
      const voice = body.object(name);
      return { ...readFile(voice), durationMs: voice.integer('durationMs') };
    }),
  };
}

function readReaction(body: JsonBody): PersonReaction {
  const common = {
    targetGuid: body.text('targetGuid'),
    action: body.oneOf('action', ['add', 'remove'] as const),
    ...body.optional('locale', (name) => readLocale(body.text(name))),
  };
  const kind = body.oneOf('kind', ['classic', 'emoji', 'sticker'] as const);
  if (kind === 'classic') return { ...common, kind, type: body.oneOf('type', CLASSIC_TYPES) };
  if (kind === 'emoji') return { ...common, kind, emoji: body.text('emoji') };
  if (common.action === 'add' && !body.has('sticker')) throw new BadRequestError('sticker must be an object');
  return { ...common, kind, ...body.optional('sticker', (name) => readFile(body.object(name))) };
}

/** `nl`, `nl-NL` and `nl_BE` are Dutch. Every other locale falls back to English. */
function readLocale(text: string): TapbackLocale {
  return /^nl\b|^nl_/i.test(text) ? 'nl' : 'en';
}

function readFile(body: JsonBody): SimulatedFile {
  const base64 = body.text('base64');
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.byteLength === 0) throw new BadRequestError('base64 must encode at least one byte');
  return {
    name: body.text('name'),
    mime: body.text('mime'),
    bytes,
    ...body.optional('delayMs', (name) => body.integer(name)),
  };
}
