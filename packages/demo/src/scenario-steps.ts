import { randomBytes } from 'node:crypto';

import type { Agent } from '@footbridge/testkit/agent';
import { until } from '@footbridge/testkit/until';

import { CONTACT, CUSTOMER, LOCATION } from './demo.ts';
import type { Demo } from './demo.ts';

export const webhookFields = (text: string) => ({
  locationId: LOCATION,
  contactId: CONTACT,
  phone: CUSTOMER,
  message: text,
});

/** Appends a random tag, so that the texts of two runs differ. */
export const unique = (text: string): string => `${text} #${randomBytes(2).toString('hex')}`;

export const countInCrm = async ({ crm }: Demo, text: string): Promise<number> =>
  (await crm.messages()).filter(({ message }) => message.startsWith(text)).length;

export const countSentBy = async (mac: Agent, text: string): Promise<number> =>
  (await mac.simulatorState()).chats
    .flatMap(({ messages }) => messages)
    .filter((message) => message.from === 'me' && message.text === text).length;

export const countOnPhone = ({ mac }: Demo, text: string): Promise<number> => countSentBy(mac, text);

export const waitForStatus = (demo: Demo, messageId: string, status: string) =>
  until(async () => (await demo.crm.accepted({ messageId })).includes(status), {
    what: `the CRM receives the status ${status}`,
  });

/** Resolves to the error of the failed status once the CRM has received it. */
export async function waitForFailure(
  demo: Demo,
  messageId: string | undefined,
): Promise<{ code: string; message: string }> {
  await waitForStatus(demo, messageId ?? '', 'failed');
  const statuses = await demo.crm.statuses();
  const error = statuses.find((call) => call.messageId === messageId && call.status === 'failed')?.error;
  return { code: field(error, 'code'), message: field(error, 'message') };
}

/** Returns one field of an untyped response as text. */
export function field(body: unknown, name: string): string {
  const value: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, name) : undefined;
  return typeof value === 'string' || typeof value === 'number' ? String(value) : `no ${name}`;
}

/** Resolves when the Mac has been told that the CRM accepted the message. Footbridge does not repeat it after that. */
export const waitForAck = ({ wire }: Demo, guid: string) =>
  until(
    () => {
      const frames = wire.entries.filter((entry) => entry.kind === 'frame');
      const sent = frames.filter(({ type, text }) => type === 'message_received' && text.includes(guid));
      const ids = new Set(sent.map((frame) => `${frame.link} ${seqOf(frame.text)}`));
      return frames.some((frame) => frame.type === 'ack' && ids.has(`${frame.link} ${seqOf(frame.text)}`));
    },
    { what: 'the acknowledgement of the message' },
  );

const seqOf = (frame: string): string => field(JSON.parse(frame), 'seq');

export const DISPLACED = '4501';

/** Returns whether a Mac was displaced after the entry with that number. */
export const wasDisplaced = ({ wire }: Demo, after: number): boolean =>
  wire.entries.some(
    (entry) =>
      entry.n > after && entry.kind === 'frame' && entry.type === 'close' && entry.text.startsWith(DISPLACED),
  );

/** Runs with a second Mac that takes over the location. Afterwards restarts the first one, which does not reconnect by itself. */
export async function withSecondMac<T>(
  demo: Demo,
  settings: Record<string, string>,
  use: (second: Agent) => Promise<T>,
): Promise<T> {
  const second = await demo.secondMac(settings);
  demo.phone.add(second);
  try {
    await second.registered();
    return await use(second);
  } finally {
    await demo.phone.retire(second);
    await second.stop();
    await demo.mac.halt();
    await demo.mac.start();
    await demo.mac.registered();
  }
}

/** Runs with a Mac at another location, where the app is installed too. */
export async function withOtherLocation<T>(
  demo: Demo,
  locationId: string,
  use: (mac: Agent) => Promise<T>,
): Promise<T> {
  await demo.install(locationId);
  const mac = await demo.secondMac({}, locationId);
  try {
    await mac.registered();
    return await use(mac);
  } finally {
    await mac.stop();
  }
}

export const times = (count: number): string =>
  count === 0 ? 'never' : count === 1 ? 'once' : `${count} times`;
