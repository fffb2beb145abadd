import { confirmByRow } from '../../confirm-by-row.ts';
import { fromStore } from '../../from-store.ts';
import type { Chat, Destination, OutgoingMessage } from '../../messages.ts';
import { COMPOSE } from '../bundled-programs.ts';
import type { ComposeInput } from '../programs/compose.ts';
import { COMPOSE_LABELS, EFFECT_NAMES } from './labels.ts';
import { runOnScreen } from './run-on-screen.ts';
import type { ScreenDeps } from './run-on-screen.ts';
import { screenFailure } from './screen-errors.ts';
import type { ScreenAction } from './screen-errors.ts';
import { newestMessage, shownPart } from './shown-message.ts';
import type { ScreenStore } from './shown-message.ts';
import type { Failed, Outcome } from '../../../../outcome.ts';

export interface ComposeDeps extends ScreenDeps {
  readonly store: ScreenStore;
}

type TextMessage = Extract<OutgoingMessage, { kind: 'text' }>;

const ROW_MS = 30_000;
/** How long to wait for the row of a text that was most likely not sent. */
const UNLIKELY_ROW_MS = 5_000;

/** Whether a message can be sent only on the screen. Apple events have no threads, effects and new groups. */
export function needsScreen(message: OutgoingMessage, destination: Destination, store: ScreenStore): boolean {
  if (message.kind === 'text' && (message.effect !== undefined || message.replyTo !== undefined)) return true;
  return (
    destination.to === 'group' && store.groupOf(destination.recipients, destination.service) === undefined
  );
}

/** Sends a text once, on the screen. A reply is never sent outside of its thread, and a text never without its effect. */
export async function sendOnScreen(
  message: OutgoingMessage,
  destination: Destination,
  deps: ComposeDeps,
): Promise<Outcome> {
  if (message.kind !== 'text')
    return screenFailure('IMESSAGE_GROUP_INVALID_RECIPIENTS', 'A new group begins with a text.');
  const effect = message.effect === undefined ? undefined : EFFECT_NAMES[message.effect];
  if (message.effect !== undefined && effect === undefined)
    return screenFailure('NOT_IMPLEMENTED', 'Messages on a Mac does not offer this effect.');
  const prepared = prepare(message, destination, deps.store);
  if ('state' in prepared) return prepared;
  const { to, since } = prepared;
  const input: Omit<ComposeInput, 'limits'> = {
    text: message.text,
    to,
    ...(effect !== undefined && { effect }),
    ...COMPOSE_LABELS,
  };
  const dispatched = await runOnScreen(COMPOSE, input, actionOf(message), deps);
  if (dispatched.state === 'failed') return dispatched;
  const { failure } = dispatched;
  const budgetMs = failure === undefined ? ROW_MS : UNLIKELY_ROW_MS;
  const result = await confirmByRow({ message, destination, since, budgetMs }, deps);
  if (result.state === 'unknown' && failure !== undefined) return failure;
  if (result.state === 'delivered') return checkForm(message, result, deps.store);
  const isRejected = destination.to === 'group' && result.state === 'failed' && result.notOnIMessage === true;
  return isRejected ? { ...result, code: 'IMESSAGE_GROUP_INVALID_RECIPIENTS' } : result;
}

/** Reads the recipient from the store. Fails while the store is unreadable, because the outcome could not be read either. */
function prepare(
  message: TextMessage,
  destination: Destination,
  store: ScreenStore,
): { readonly to: ComposeInput['to']; readonly since: number } | Failed {
  return fromStore(() => {
    const to = recipientOf(message, destination, store);
    return 'state' in to ? to : { to, since: store.position() };
  });
}

function actionOf({ effect, replyTo }: TextMessage): ScreenAction {
  if (replyTo !== undefined) return 'reply';
  return effect === undefined ? 'new_group' : 'effect';
}

function recipientOf(
  { replyTo }: TextMessage,
  destination: Destination,
  store: ScreenStore,
): ComposeInput['to'] | Failed {
  const chat = chatOf(destination, store);
  if (replyTo !== undefined) {
    const row = store.rowByGuid(replyTo);
    const shown = row === undefined ? undefined : shownPart(store, row);
    const place = row?.chatId === undefined ? undefined : store.chat(row.chatId);
    if (shown === undefined || !isSameConversation(chat, place))
      return screenFailure(
        'TARGET_NOT_FOUND',
        'The message to reply to is not in this conversation on this Mac.',
      );
    return { replyTo: shown.message, part: shown.part };
  }
  const newest = chat === undefined ? undefined : newestMessage(store, chat.id);
  if (newest !== undefined) return { chatOf: newest };
  if (destination.to === 'chat')
    return screenFailure('IMESSAGE_ERROR', 'The chat has no message by which Messages could show it.');
  if (destination.service !== 'iMessage')
    return screenFailure('IMESSAGE_GROUP_INVALID_RECIPIENTS', 'A new group can be created only by iMessage.');
  return { people: destination.to === 'person' ? [destination.handle] : destination.recipients };
}

function chatOf(destination: Destination, store: ScreenStore): Chat | undefined {
  if (destination.to === 'chat') return store.chat(destination.chatId);
  if (destination.to === 'person') return store.directChat(destination.handle, destination.service);
  const group = store.groupOf(destination.recipients, destination.service);
  return group === 'ambiguous' ? undefined : group;
}

/** Whether two chats are one conversation. A person can have a chat per service. */
function isSameConversation(one: Chat | undefined, other: Chat | undefined): boolean {
  if (one === undefined || other === undefined) return false;
  if (one.id === other.id) return true;
  return !one.isGroup && !other.isGroup && one.recipients[0] === other.recipients[0];
}

/** Returns an unknown outcome for a text that arrived in another form: it did not fail, and it must not be sent again. */
function checkForm(
  message: TextMessage,
  sent: Extract<Outcome, { state: 'delivered' }>,
  store: ScreenStore,
): Outcome {
  const row = store.rowByGuid(sent.guid);
  const target = message.replyTo === undefined ? undefined : store.rowByGuid(message.replyTo);
  const isInThread = row?.replyTo !== undefined && [target?.guid, target?.replyTo].includes(row.replyTo);
  const isReply = message.replyTo === undefined ? row?.replyTo === undefined : isInThread;
  if (isReply && row?.effect === message.effect) return sent;
  const what = isReply ? 'without its effect' : 'outside of its thread';
  return {
    state: 'unknown',
    code: 'TIMEOUT',
    message: `The text was sent, but ${what}. It is not sent again.`,
  };
}
