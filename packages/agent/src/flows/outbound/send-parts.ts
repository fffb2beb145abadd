import { contentKey } from '../../ports/messages/content-key.ts';
import type {
  Destination,
  ExpectedMessage,
  Messages,
  OutgoingMessage,
  SendResult,
} from '../../ports/messages/messages.ts';
import type { FetchFile } from './fetch-file.ts';
import type { Failed, Outcome } from './outcome.ts';
import type { JobDeps } from './job-deps.ts';
import { INTERRUPTED } from './steps.ts';

export interface Part {
  /** The name of the step in the journal, by which a second attempt skips parts that were sent. */
  readonly step: string;
  readonly message: OutgoingMessage<FetchFile>;
}

/**
 * Sends the parts in order and stops at the first failure. Reports the guid of the first part. The files are fetched before anything is
 * sent, so that a missing file does not leave half a message sent. Parts that an earlier attempt sent, or may have sent, do not need
 * their files, which may be gone.
 */
export async function sendParts(
  parts: readonly Part[],
  destination: Destination,
  deps: JobDeps,
): Promise<Outcome> {
  let target = destination;
  let guid: string | undefined;
  for (const [index, part] of parts.entries()) {
    if (index > 0) await deps.pacing.pause();
    const load = async () => (await fetchFiles(parts.slice(index))) ?? (await withFile(part.message));
    const result = await sendPart(part, target, load, deps);
    if (result.sent.result !== 'sent') {
      const { code, message } = result.sent;
      const state = result.sent.result === 'failed' ? 'failed' : 'unknown';
      if (index === 0) return { state, code, message };
      return { state, code, message: `${message} (${index} of ${parts.length} parts were already sent)` };
    }
    target = result.target;
    guid ??= result.sent.guid;
  }
  return { state: 'delivered', guid };
}

async function sendPart(
  part: Part,
  destination: Destination,
  load: () => Promise<OutgoingMessage | Failed>,
  { messages, steps, settings, pacing }: JobDeps,
): Promise<{ sent: SendResult; target: Destination }> {
  const sendTo = async (to: Destination): Promise<SendResult> => {
    const findOutcome = async (since: number, fileName: string | undefined): Promise<SendResult> => {
      const expected = expectedMessage(part.message, fileName);
      return expected === undefined ? INTERRUPTED : await messages.outcomeOf(expected, to, since);
    };
    const earlier = await steps.earlierResult(part.step, findOutcome);
    if (earlier !== undefined) return earlier;
    const message = await load();
    if ('state' in message) return { result: 'failed', code: message.code, message: message.message };
    const fileName = message.kind === 'text' ? undefined : message.file.name;
    const send = (): Promise<SendResult> => {
      pacing.count(to, messages.store);
      return messages.send(message, to);
    };
    return await steps.once(part.step, send, findOutcome, { content: contentKey(message), fileName });
  };
  const sent = await sendTo(destination);
  if (sent.result !== 'failed' || sent.notOnIMessage !== true) return { sent, target: destination };
  const handle = onlyRecipient(destination, messages);
  if (handle === undefined)
    return { sent: { ...sent, code: 'IMESSAGE_GROUP_INVALID_RECIPIENTS' }, target: destination };
  if (settings.channel !== 'auto' || !fitsSms(part.message)) return { sent, target: destination };
  // Cannot duplicate the message: Messages reported that the first attempt was not sent.
  const target: Destination = { to: 'person', handle, service: 'SMS' };
  return { sent: await sendTo(target), target };
}

/** Returns the failure of the first file that cannot be fetched, or undefined when all were fetched. */
async function fetchFiles(parts: readonly Part[]): Promise<Failed | undefined> {
  for (const { message } of parts) {
    const fetched = await withFile(message);
    if ('state' in fetched) return fetched;
  }
  return undefined;
}

async function withFile(message: Part['message']): Promise<OutgoingMessage | Failed> {
  if (message.kind === 'text') return message;
  const file = await message.file();
  return 'state' in file ? file : { ...message, file };
}

/** Returns undefined when the name of the file was not recorded: an older version of the agent began the send. */
function expectedMessage(
  message: Part['message'],
  fileName: string | undefined,
): ExpectedMessage | undefined {
  if (message.kind === 'text') return message;
  return fileName === undefined ? undefined : { ...message, file: { name: fileName } };
}

function onlyRecipient(destination: Destination, { store }: Messages): string | undefined {
  if (destination.to === 'person') return destination.handle;
  const chat = destination.to === 'chat' ? store.chat(destination.chatId) : undefined;
  return chat?.isGroup === false ? chat.recipients[0] : undefined;
}

/** Effects and stickers exist only in iMessage. */
const fitsSms = (message: Part['message']): boolean =>
  message.kind === 'text' ? message.effect === undefined : message.kind !== 'sticker';
