import { randomBytes } from 'node:crypto';

import type { Agent } from '@footbridge/testkit/agent';
import { until } from '@footbridge/testkit/until';

import { CONTACT, CUSTOMER, LOCATION } from './world.ts';
import type { World } from './world.ts';

export const fresh = (text: string) => ({
  locationId: LOCATION,
  contactId: CONTACT,
  phone: CUSTOMER,
  message: text,
});

/** So that the second time is not mistaken for the first. */
export const marked = (text: string): string => `${text} #${randomBytes(2).toString('hex')}`;

export const arrived = async ({ crm }: World, text: string): Promise<number> =>
  (await crm.messages()).filter(({ message }) => message.startsWith(text)).length;

export const sentBy = async (mac: Agent, text: string): Promise<number> =>
  (await mac.world()).chats
    .flatMap(({ messages }) => messages)
    .filter((message) => message.from === 'me' && message.text === text).length;

export const onPhone = ({ mac }: World, text: string): Promise<number> => sentBy(mac, text);

export const told = (world: World, messageId: string, status: string) =>
  until(async () => (await world.crm.accepted({ messageId })).includes(status), {
    what: `the CRM hears ${status}`,
  });

/** The reason of a failed status, once the CRM has heard of it. */
export async function failure(
  world: World,
  messageId: string | undefined,
): Promise<{ code: string; message: string }> {
  await told(world, messageId ?? '', 'failed');
  const statuses = await world.crm.statuses();
  const error = statuses.find((call) => call.messageId === messageId && call.status === 'failed')?.error;
  return { code: field(error, 'code'), message: field(error, 'message') };
}

/** What others answered is theirs to shape: one field of it, as text. */
export function field(of: unknown, name: string): string {
  const value: unknown = typeof of === 'object' && of !== null ? Reflect.get(of, name) : undefined;
  return typeof value === 'string' || typeof value === 'number' ? String(value) : `no ${name}`;
}

export const DISPLACED = '4501';

/** Whether a Mac was sent away after the entry with that number. */
export const wasDisplaced = ({ wire }: World, after: number): boolean =>
  wire.entries.some(
    (entry) =>
      entry.n > after && entry.kind === 'frame' && entry.type === 'close' && entry.text.startsWith(DISPLACED),
  );

/** Another Mac takes the location, and gives it back in the end: displaced, the first one stays away until a person starts it again. */
export async function withSecondMac<T>(
  world: World,
  settings: Record<string, string>,
  use: (second: Agent) => Promise<T>,
): Promise<T> {
  const second = await world.secondMac(settings);
  try {
    await second.registered();
    return await use(second);
  } finally {
    await second.stop();
    await world.mac.halt();
    await world.mac.start();
    await world.mac.registered();
  }
}

export const times = (count: number): string =>
  count === 0 ? 'never' : count === 1 ? 'once' : `${count} times`;
