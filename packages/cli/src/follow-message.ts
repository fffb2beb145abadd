import type { ResponseOf } from '@footbridge/protocol/operator/call';
import { showMessage } from '@footbridge/protocol/operator/messages';
import { messageOutcome } from '@footbridge/protocol/message-outcome';
import type { MessageOutcome } from '@footbridge/protocol/message-outcome';

import { CliError, EXIT } from './cli-error.ts';
import { describeStep } from './commands/format-message.ts';
import type { Io } from './io.ts';
import type { OperatorClient } from './operator-client.ts';
import type { Output } from './output.ts';
import { withProgress } from './progress.ts';

type Trail = ResponseOf<typeof showMessage>;

const POLL_MS = 200;
const SETTLED = new Set(['delivered', 'failed', 'rejected', 'undeliverable']);

export interface Follow {
  readonly client: OperatorClient;
  readonly output: Output;
  readonly io: Pick<Io, 'stderr'>;
  readonly id: string;
  readonly withinMs: number;
}

/** Prints each step of a message until its outcome is known. Throws a CliError with exit code 8 when time is up. */
export async function followMessage({ client, output, io, id, withinMs }: Follow): Promise<MessageOutcome> {
  const deadline = performance.now() + withinMs;
  let shown = 0;
  return await withProgress(io.stderr, { title: 'waiting for the outcome', withinMs }, async (pause) => {
    for (;;) {
      const trail = await find(client, id);
      const news = trail?.steps.slice(shown) ?? [];
      const start = Date.parse(trail?.steps[0]?.at ?? '');
      for (const step of news)
        pause(() => {
          const elapsed = (Date.parse(step.at) - start) / 1000;
          output.result(`  +${elapsed.toFixed(2)} s  ${describeStep(step)}`, { id, ...step });
        });
      shown += news.length;
      if (trail !== undefined && SETTLED.has(trail.status)) return messageOutcome([trail]);
      if (performance.now() > deadline)
        throw new CliError(
          `the outcome is not known after ${Math.round(withinMs / 1000)} s; the status is ${trail?.status ?? 'unknown'}`,
          { exitCode: EXIT.timedOut, next: `footbridge show ${id}` },
        );
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  });
}

/** The journal is written in the background, so a new message may not be there yet. */
async function find(client: OperatorClient, id: string): Promise<Trail | undefined> {
  try {
    return await client.ask(showMessage, { id });
  } catch (error) {
    if (error instanceof CliError && error.exitCode === EXIT.notFound) return undefined;
    throw error;
  }
}
