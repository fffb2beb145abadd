import { contentKey } from '../../ports/messages/content-key.ts';
import type { Destination, ExpectedMessage, OutgoingMessage } from '../../ports/messages/messages.ts';
import type { FetchFile } from './fetch-file.ts';
import { personOf } from './find-chat.ts';
import type { JobDeps } from './job-deps.ts';
import { checkGroup } from './route.ts';
import { INTERRUPTED } from './steps.ts';
import type { Failed, JobOutcome, Outcome, Unknown } from '../../outcome.ts';

export interface Part {
  /** The name of the step in the journal, by which a second attempt skips parts that were sent. */
  readonly step: string;
  readonly message: OutgoingMessage<FetchFile>;
  /** Returns a failure when the part cannot be sent now. Not called for a part that an earlier attempt sent or may have sent. */
  readonly check?: (destination: Destination) => Failed | undefined;
}

/** Returns the destination of all parts, which may no longer exist after an earlier attempt. */
export type FindDestination = () => Destination | Failed;

/**
 * Sends the parts in order, stops at the first failure, and reports the guid of the first part. All files are fetched before the first
 * send, so that a missing file does not leave half a message sent. A part that an earlier attempt sent is skipped. A part that it may
 * have sent is looked up before any check, because its file or its destination may be gone.
 */
export async function sendParts(
  parts: readonly Part[],
  findDestination: FindDestination,
  deps: JobDeps,
): Promise<JobOutcome> {
  let destination: Destination | Failed | undefined;
  const toDestination = (): Destination | Failed => (destination ??= findDestination());
  let guid: string | undefined;
  for (const [index, part] of parts.entries()) {
    const prepare = async (): Promise<OutgoingMessage | Failed> => {
      if (index > 0) await deps.pacing.pause();
      return (await fetchFiles(parts.slice(index))) ?? (await withFile(part.message));
    };
    const { sent, sentTo } = await sendPart(part, toDestination, prepare, deps);
    if (sent.state !== 'delivered') return withPartCount(sent, index, parts.length);
    destination = sentTo ?? destination;
    guid ??= sent.guid;
  }
  return { state: 'delivered', guid };
}

function withPartCount(outcome: Failed | Unknown, sentParts: number, allParts: number): JobOutcome {
  if (sentParts === 0) return outcome;
  const reason = outcome.message.replaceAll(' Nothing was sent.', '');
  return { ...outcome, message: `${reason} (${sentParts} of ${allParts} parts had already been sent)` };
}

/** Sends a part, and sends it by SMS when the recipient is certainly not on iMessage. */
async function sendPart(
  part: Part,
  findDestination: FindDestination,
  prepare: () => Promise<OutgoingMessage | Failed>,
  deps: JobDeps,
): Promise<{ sent: Outcome; sentTo?: Destination }> {
  const sent = await sendTo(findDestination, part, prepare, deps);
  if (sent.state !== 'failed' || sent.notOnIMessage !== true) return { sent };
  const destination = findDestination();
  const handle = 'state' in destination ? undefined : personOf(destination, deps.messages.store);
  if (handle === undefined) return { sent: { ...sent, code: 'IMESSAGE_GROUP_INVALID_RECIPIENTS' } };
  if (deps.settings.channel !== 'auto' || !fitsSms(part.message)) return { sent };
  // Cannot duplicate the message: Messages reported that the first attempt was not sent.
  const sentTo: Destination = { to: 'person', handle, service: 'SMS' };
  return { sent: await sendTo(() => sentTo, part, prepare, deps), sentTo };
}

async function sendTo(
  findDestination: FindDestination,
  part: Part,
  prepare: () => Promise<OutgoingMessage | Failed>,
  { messages, steps, pacing }: JobDeps,
): Promise<Outcome> {
  const findOutcome = async (since: number, fileName: string | undefined): Promise<Outcome> => {
    const expected = expectedMessage(part.message, fileName);
    const destination = findDestination();
    if (expected === undefined || 'state' in destination) return INTERRUPTED;
    return await messages.outcomeOf(expected, destination, since);
  };
  const earlier = await steps.earlierResult(part.step, findOutcome);
  if (earlier !== undefined) return earlier;
  const destination = findDestination();
  if ('state' in destination) return destination;
  const refused = checkGroup(destination, messages.store) ?? part.check?.(destination);
  if (refused !== undefined) return refused;
  const message = await prepare();
  if ('state' in message) return message;
  const fileName = message.kind === 'text' ? undefined : message.file.name;
  const send = (): Promise<Outcome> => {
    pacing.count(destination, messages.store);
    return messages.send(message, destination);
  };
  return await steps.once(part.step, send, findOutcome, { content: contentKey(message), fileName });
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

/** Returns undefined when the name of the file was not recorded because an older agent version began the send. */
function expectedMessage(
  message: Part['message'],
  fileName: string | undefined,
): ExpectedMessage | undefined {
  if (message.kind === 'text') return message;
  return fileName === undefined ? undefined : { ...message, file: { name: fileName } };
}

/** Effects and stickers exist only in iMessage. */
const fitsSms = (message: Part['message']): boolean =>
  message.kind === 'text' ? message.effect === undefined : message.kind !== 'sticker';
