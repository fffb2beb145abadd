import type { Reply } from './server-client.ts';
import { failed } from '../../../outcome.ts';
import type { Failed } from '../../../outcome.ts';

/** Errors that the server reports before it passes anything to Messages. Every other error can follow a send. */
const BEFORE_ANY_SEND: readonly (readonly [pattern: RegExp, message: string])[] = [
  [/Private API is not enabled/, 'The Private API of BlueBubbles is turned off. Turn it on in its settings.'],
  [
    /Helper is not connected/,
    'The helper of BlueBubbles is not connected to Messages. Restart BlueBubbles, then run footbridge-agent doctor.',
  ],
  [/Failed to find all handles/, 'Messages does not know a recipient for this service.'],
];

/** The same for a message to an existing chat. A call that starts a conversation looks for its chat only after the send. */
const BEFORE_SEND_TO_CHAT: typeof BEFORE_ANY_SEND = [
  ...BEFORE_ANY_SEND,
  [/^Chat does not exist/, 'Messages does not have this chat open. Open it once in Messages.'],
  [/^Failed to send message!$/, 'BlueBubbles has no connection to Messages. Restart BlueBubbles.'],
];

/** How long ago the reply came without a row, and how long the row of a refused command may take. */
interface Waited {
  readonly waitedMs: number;
  readonly certainMs: number;
  /** The call starts a conversation. */
  readonly startsChat?: boolean;
}

/**
 * Returns a failure when the reply, and the time without a row since then, prove that nothing was sent. Otherwise only the message
 * store can tell. A refusal alone is not a proof: another helper, or the server itself, may have carried out the command.
 */
export function certainFailure(
  reply: Reply,
  { waitedMs, certainMs, startsChat = false }: Waited,
): Failed | undefined {
  const failure = refusalOf(reply, startsChat);
  return waitedMs >= (isUnread(reply) ? 0 : certainMs) ? failure : undefined;
}

/** Whether the server did not read the command. */
function isUnread(reply: Reply): boolean {
  return reply.kind === 'unreachable' || reply.status === 401 || reply.status === 403;
}

function refusalOf(reply: Reply, startsChat: boolean): Failed | undefined {
  if (reply.kind === 'unreachable') return notSent('BlueBubbles is not running. Start it on this Mac.');
  // The server does not have this path. The other kind of 404 is about a row, which may appear later.
  const error = reply.kind === 'reply' ? reply.error : '';
  if (reply.status === 404 && !/database/i.test(error))
    return notSent('BlueBubbles does not offer this call. Update it to 1.9 or newer.');
  if (reply.kind === 'lost') return undefined;
  const { status } = reply;
  if (status === 401 || status === 403)
    return notSent('BlueBubbles rejected the password. Save the right one in the password file.');
  if (status === 400)
    return /already queued/.test(error) ? undefined : notSent('BlueBubbles rejected the request as invalid.');
  const known = (startsChat ? BEFORE_ANY_SEND : BEFORE_SEND_TO_CHAT).find(([pattern]) => pattern.test(error));
  return status === 500 && known !== undefined ? notSent(known[1]) : undefined;
}

function notSent(why: string): Failed {
  return failed('IMESSAGE_ERROR', `${why} Nothing was sent.`);
}
