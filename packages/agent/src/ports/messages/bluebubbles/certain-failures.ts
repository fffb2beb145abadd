import type { SendFailure } from '../messages.ts';
import type { Reply } from './server-client.ts';

/** `error.message` of responses that the server gives before Messages gets anything. All others can follow a send. */
const BEFORE_SENDING: readonly (readonly [pattern: RegExp, message: string])[] = [
  [/Private API is not enabled/, 'The Private API of BlueBubbles is turned off. Turn it on in its settings.'],
  [
    /Helper is not connected/,
    'The helper of BlueBubbles is not connected to Messages. Restart BlueBubbles, then run footbridge-agent doctor.',
  ],
  [/^Chat does not exist/, 'Messages does not have this chat open. Open it once in Messages.'],
  [/Failed to find all handles/, 'Messages does not know a recipient for this service.'],
  [/^Failed to send message!$/, 'BlueBubbles has no connection to Messages. Restart BlueBubbles.'],
];

/** Returns a failure when the reply proves that nothing was sent. Otherwise only the message store can tell. */
export function certainFailure(reply: Reply): SendFailure | undefined {
  if (reply.kind === 'unreachable') return failed('BlueBubbles is not running. Start it on this Mac.');
  // A path that the server does not have.
  if (reply.status === 404) return failed('BlueBubbles does not offer this call. Update it to 1.9 or newer.');
  if (reply.kind === 'lost') return undefined;
  const { status, error } = reply;
  if (status === 401 || status === 403)
    return failed('BlueBubbles rejected the password. Save the right one in the password file.');
  if (status === 400)
    return /already queued/.test(error) ? undefined : failed('BlueBubbles rejected the request as invalid.');
  const known = BEFORE_SENDING.find(([pattern]) => pattern.test(error));
  return status === 500 && known !== undefined ? failed(known[1]) : undefined;
}

function failed(why: string): SendFailure {
  return { result: 'failed', code: 'IMESSAGE_ERROR', message: `${why} Nothing was sent.` };
}
