import { connect } from 'node:net';
import { createInterface } from 'node:readline';

import { AgentCallError } from '../../errors.ts';
import type { LocalCalls, SelftestListener } from './local-calls.ts';
import { localSocketPath } from './local-calls.ts';
import type { LocalCall } from './read-call.ts';

type Result<C extends LocalCall['call']> = Awaited<ReturnType<LocalCalls[C]>>;
type Step = Parameters<SelftestListener['onStep']>[0];

interface CallOptions extends Partial<SelftestListener> {
  /** Ends the call. The agent's work for it continues. */
  readonly signal?: AbortSignal;
}

/** Makes a call to the running agent. Rejects with an AgentCallError when no agent runs, when the call fails, and when `signal` ends it. */
export async function callAgent<C extends LocalCall['call']>(
  dataDir: string,
  call: Extract<LocalCall, { call: C }>,
  { onStep, onNote, signal }: CallOptions = {},
): Promise<Result<C>> {
  const socket = connect({ path: localSocketPath(dataDir), ...(signal !== undefined && { signal }) });
  const { options, ...flat } = { options: {}, ...call };
  socket.on('connect', () => socket.write(`${JSON.stringify({ ...flat, ...options })}\n`));
  try {
    for await (const line of createInterface(socket)) {
      const response: { step?: Step; note?: string; result?: Result<C>; error?: string } = JSON.parse(line);
      if (response.error !== undefined) throw new AgentCallError(response.error);
      if (response.result !== undefined) return response.result;
      if (response.step !== undefined) onStep?.(response.step);
      if (response.note !== undefined) onNote?.(response.note);
    }
  } catch (error) {
    if (error instanceof AgentCallError) throw error;
    throw new AgentCallError(NOT_RUNNING, { cause: error });
  } finally {
    socket.destroy();
  }
  throw new AgentCallError(NOT_RUNNING);
}

const NOT_RUNNING = 'The agent is not running';
