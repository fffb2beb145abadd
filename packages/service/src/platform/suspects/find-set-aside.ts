import { counted } from '../findings.ts';
import type { Finding } from '../findings.ts';

interface SetAside {
  readonly kind: 'outbound' | 'inbound' | 'file';
  readonly locationId: string;
  readonly at: number;
}

const ENDED_TWICE = 'the service or the agent ended twice in the work on each.';

/** Finds messages that ended the service or the agent twice, newest first. */
export function messagesSetAside(setAside: readonly SetAside[]): Finding[] {
  return Array.from(
    Map.groupBy(setAside, ({ locationId }) => locationId),
    ([locationId, found]) => {
      const files = found.filter(({ kind }) => kind === 'file').length;
      const messages = found.length - files;
      return {
        kind: 'messages_set_aside' as const,
        subject: locationId,
        locationIds: [locationId],
        sentence: [
          ...(messages > 0 ? [`${areCounted(messages, 'message')} set aside: ${ENDED_TWICE}`] : []),
          ...(files > 0 ? [`${areCounted(files, 'file')} stored unexamined: ${ENDED_TWICE}`] : []),
        ].join(' '),
        action:
          'Update the service and the agent, and report the log event `message.ended_process`. `footbridge tail --since 30d --code SET_ASIDE --no-follow` lists the messages, and `footbridge redeliver ID` allows another attempt.',
        since: found.at(-1)?.at ?? null,
      };
    },
  );
}

const areCounted = (count: number, noun: string) => `${counted(count, noun)} ${count === 1 ? 'is' : 'are'}`;
