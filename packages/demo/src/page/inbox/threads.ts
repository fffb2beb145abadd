import { isRetryable, nextStatus, parseFooter, reactionsFor, reduceReactions } from '@footbridge/kit';
import type { MessageStatus, Metadata, ReactionState, ShownReaction } from '@footbridge/kit';

import type { About, Inbox, SentWebhook, StatusCall } from '../types.ts';

/** One message of a conversation, as a CRM would store it. */
export interface InboxItem {
  readonly id: string;
  readonly at: number;
  readonly direction: 'in' | 'out';
  readonly sender: string;
  readonly text: string;
  readonly raw: string;
  readonly metadata: Metadata | null;
  readonly attachments: readonly string[];
  readonly guid: string | undefined;
  readonly outcome?: Outcome;
  readonly reactions: readonly ShownReaction[];
}

export interface Outcome {
  readonly state: MessageStatus | 'rejected' | 'sending';
  readonly code?: string;
  readonly reason?: string;
  readonly advice?: string;
}

export interface Thread {
  readonly id: string;
  readonly isGroup: boolean;
  readonly contactId: string;
  /** From the footers. Without it, the agent cannot react to messages of the thread. */
  readonly chatId: number | undefined;
  readonly recipients: readonly string[];
  readonly items: readonly InboxItem[];
}

type Draft = Omit<InboxItem, 'reactions'> & { contactId: string };

/**
 * Groups the messages, statuses and webhooks of the CRM into conversations. The kit handles footers, reactions and
 * statuses; a real CRM would use the same calls.
 */
export function toThreads(
  { messages, statuses, webhooks }: Inbox,
  about: Pick<About, 'locationId'>,
): Thread[] {
  const statusesById = Map.groupBy(statuses, ({ messageId }) => messageId);
  const drafts: Draft[] = [
    ...messages
      .filter(({ locationId }) => locationId === about.locationId)
      .map(({ messageId, contactId, message, attachments, at }): Draft => {
        const { text, metadata } = parseFooter(message);
        return {
          id: messageId,
          at,
          direction: 'in',
          sender: stringOf(metadata?.sender) ?? contactId,
          contactId,
          text,
          raw: message,
          metadata,
          attachments,
          guid: stringOf(metadata?.message_guid),
        };
      }),
    ...webhooks.flatMap((webhook, index): Draft[] => {
      const sent = readBody(webhook.body);
      if (sent.locationId !== about.locationId) return [];
      const id = webhook.messageId ?? `webhook ${index}`;
      const { text, metadata } = parseFooter(sent.message);
      return [
        {
          id: `${id} ${index}`,
          at: webhook.at,
          direction: 'out',
          sender: 'us',
          contactId: sent.contactId,
          text,
          raw: sent.message,
          metadata,
          attachments: sent.attachments,
          guid: guidIn(statusesById.get(id) ?? []),
          outcome: outcomeOf(webhook, statusesById.get(id) ?? []),
        },
      ];
    }),
  ].toSorted((a, b) => a.at - b.at);

  const reactions = drafts.reduce<ReactionState>(
    (state, { raw, attachments, direction, outcome, at }) =>
      direction === 'in' || outcome?.state === 'delivered'
        ? reduceReactions(state, { message: raw, attachments, sender: 'us', at })
        : state,
    {},
  );
  return groupIntoThreads(drafts, reactions);
}

function groupIntoThreads(drafts: readonly Draft[], reactions: ReactionState): Thread[] {
  const groups = new Set(
    drafts.filter(({ metadata }) => metadata?.is_group === true).map(({ metadata }) => metadata?.chat_id),
  );
  const threadOf = ({ metadata, contactId }: Draft) =>
    groups.has(metadata?.chat_id) ? `group ${metadata?.chat_id}` : contactId;
  return [...Map.groupBy(drafts, threadOf)].map(([id, found]) => {
    const last = found.findLast(({ metadata }) => typeof metadata?.chat_id === 'number')?.metadata;
    return {
      id,
      isGroup: id.startsWith('group '),
      contactId: found[0]?.contactId ?? '',
      chatId: last?.chat_id,
      recipients:
        found.findLast(({ metadata }) => Array.isArray(metadata?.recipients))?.metadata?.recipients ?? [],
      items: found.map((draft) => ({
        ...draft,
        reactions: draft.guid === undefined ? [] : reactionsFor(reactions, draft.guid),
      })),
    };
  });
}

/** Returns the outcome of an outbound message from the webhook response and the status calls, which may be in any order. */
export function outcomeOf(webhook: SentWebhook, statuses: readonly StatusCall[]): Outcome {
  const accepted = statuses
    .filter((call) => call.accepted)
    .toSorted((a, b) => (a.acceptedAs ?? 0) - (b.acceptedAs ?? 0));
  const state = accepted.reduce<MessageStatus | undefined>(
    (before, { status }) => nextStatus(before, status),
    undefined,
  );
  const isRejected = webhook.status !== undefined && webhook.status !== 200;
  if (state === 'failed' || isRejected) {
    const error = accepted.find(({ status }) => status === 'failed')?.error;
    const answer = isRecord(webhook.answer) ? webhook.answer : {};
    const code = stringOf(error?.code) ?? stringOf(answer['code']);
    const reason = stringOf(error?.message) ?? stringOf(answer['message']) ?? stringOf(answer['error']);
    return {
      state: isRejected ? 'rejected' : 'failed',
      ...(code !== undefined && { code, advice: isRetryable(code).advice }),
      ...(reason !== undefined && { reason }),
    };
  }
  if (webhook.error !== undefined) return { state: 'rejected', reason: webhook.error };
  return { state: state ?? 'sending' };
}

/** The status `delivered` has the GUID of the sent message, which a reaction to it needs. */
const guidIn = (statuses: readonly StatusCall[]): string | undefined =>
  statuses.find(({ status, accepted }) => accepted && status === 'delivered')?.messageGuid;

function readBody(body: string): {
  locationId: string | undefined;
  contactId: string;
  message: string;
  attachments: string[];
} {
  try {
    const read: unknown = JSON.parse(body);
    const fields = isRecord(read) ? read : {};
    const { attachments } = fields;
    return {
      locationId: stringOf(fields['locationId']),
      contactId: stringOf(fields['contactId']) ?? '',
      message: stringOf(fields['message']) ?? '',
      attachments: Array.isArray(attachments) ? attachments.filter((url) => typeof url === 'string') : [],
    };
  } catch {
    return { locationId: undefined, contactId: '', message: '', attachments: [] };
  }
}

const stringOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
