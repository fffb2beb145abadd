import type { SimulatedMac } from './simulated-mac.ts';

/** The options of an event. */
export interface EventOptions {
  readonly from: string;
  readonly text: string;
  readonly target: string | undefined;
  readonly type: string;
  readonly emoji: string | undefined;
  readonly code: string;
}

/** What happened on the simulated Mac. `guid` is the id of the message in the journal, or null when there is none. */
interface Happened {
  readonly guid: string | null;
  readonly sentence: string;
}

export interface SampleEvent {
  readonly name: string;
  readonly about: string;
  readonly trigger: (mac: SimulatedMac, options: EventOptions) => Promise<Happened>;
}

interface Said {
  readonly guid: string;
  readonly chatId: number;
}

/** The other member of a group. */
const OTHER_MEMBER = '+15550100099';
const VOICE_SECONDS = 1;
const WITH_GUID = { guid: 'text' } as const;

export const SAMPLE_EVENTS: readonly SampleEvent[] = [
  {
    name: 'inbound.text',
    about: 'a person writes a text',
    trigger: (mac, { from, text }) => say(mac, from, { text }, 'a text'),
  },
  {
    name: 'inbound.group',
    about: 'a person writes to a group',
    async trigger(mac, { from, text }) {
      const { chatId } = await mac.call<{ chatId: number }>(
        '/groups',
        { recipients: [from, OTHER_MEMBER] },
        { chatId: 'number' },
      );
      return await say(mac, from, { text, chatId }, 'a text to a group');
    },
  },
  {
    name: 'inbound.attachment',
    about: 'a person sends an image',
    trigger: (mac, { from, text }) => say(mac, from, { text, attachments: [IMAGE] }, 'an image'),
  },
  {
    name: 'inbound.voice',
    about: 'a person sends a voice message',
    trigger: (mac, { from }) => say(mac, from, { voice: voice() }, 'a voice message'),
  },
  {
    name: 'inbound.sticker',
    about: 'a person sends a sticker',
    async trigger(mac, { from }) {
      const { guid } = await mac.call<Said>(person(from, 'sticker'), IMAGE, WITH_GUID);
      return { guid, sentence: `${from} sent a sticker.` };
    },
  },
  {
    name: 'reaction.add',
    about: 'a person reacts to a message: --target, or a text of their own',
    trigger: (mac, options) => react(mac, options, 'add'),
  },
  {
    name: 'reaction.remove',
    about: 'a person removes a reaction: from --target, or one made for this',
    async trigger(mac, options) {
      const target = options.target ?? (await targetOf(mac, options));
      if (options.target === undefined) await react(mac, { ...options, target }, 'add');
      return await react(mac, { ...options, target }, 'remove');
    },
  },
  {
    name: 'message.edit',
    about: 'a person edits a text: --target, or one made for this',
    async trigger(mac, options) {
      const guid = options.target ?? (await targetOf(mac, options));
      await mac.call(person(options.from, 'edit'), { guid, text: `${options.text} (edited)` });
      return { guid, sentence: `${options.from} edited a text.` };
    },
  },
  {
    name: 'message.unsend',
    about: 'a person unsends a text: --target, or one made for this',
    async trigger(mac, options) {
      const guid = options.target ?? (await targetOf(mac, options));
      await mac.call(person(options.from, 'unsend'), { guid });
      return { guid, sentence: `${options.from} unsent a text.` };
    },
  },
  {
    name: 'status.failed',
    about: 'the next text that the Mac sends fails with --code',
    async trigger(mac, { code }) {
      await mac.call('/world', { faults: [{ job: 'text', code, times: 1 }] });
      return { guid: null, sentence: `The next text that this Mac sends fails with ${code}.` };
    },
  },
];

const person = (handle: string, verb: string) => `/people/${encodeURIComponent(handle)}/${verb}`;

async function say(mac: SimulatedMac, from: string, message: object, what: string): Promise<Happened> {
  const { guid } = await mac.call<Said>(person(from, 'say'), message, WITH_GUID);
  return { guid, sentence: `${from} sent ${what}.` };
}

const targetOf = async (mac: SimulatedMac, { from, text }: EventOptions): Promise<string> =>
  (await mac.call<Said>(person(from, 'say'), { text }, WITH_GUID)).guid;

async function react(mac: SimulatedMac, options: EventOptions, action: 'add' | 'remove'): Promise<Happened> {
  const { from, type, emoji } = options;
  const targetGuid = options.target ?? (await targetOf(mac, options));
  const kind = emoji === undefined ? { kind: 'classic', type } : { kind: 'emoji', emoji };
  const { guid } = await mac.call<{ guid: string }>(
    person(from, 'react'),
    { targetGuid, action, ...kind },
    WITH_GUID,
  );
  return {
    guid,
    sentence: `${from} ${action === 'add' ? 'reacted with' : 'removed'} ${emoji ?? type}.`,
  };
}

/** One transparent pixel. */
const IMAGE = {
  name: 'sample.png',
  mime: 'image/png',
  base64: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
};

/** A second of silence: WAV, one channel, 8 bits, 8 kHz. */
function voice() {
  const rate = 8000;
  const samples = Buffer.alloc(rate * VOICE_SECONDS, 0x80);
  const header = Buffer.alloc(44);
  header.write('RIFF', 0);
  header.writeUInt32LE(36 + samples.length, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(rate, 24);
  header.writeUInt32LE(rate, 28);
  header.writeUInt16LE(1, 32);
  header.writeUInt16LE(8, 34);
  header.write('data', 36);
  header.writeUInt32LE(samples.length, 40);
  return {
    name: 'voice.wav',
    mime: 'audio/wav',
    base64: Buffer.concat([header, samples]).toString('base64'),
    durationMs: VOICE_SECONDS * 1000,
  };
}
