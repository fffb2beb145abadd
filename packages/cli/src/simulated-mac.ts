import { readJson } from '@footbridge/protocol/read-json';

import { CliError, EXIT } from './cli-error.ts';
import { readBounded } from './read-bounded.ts';
import { hasShape } from './response-shape.ts';
import type { Shape } from './response-shape.ts';

const MAX_RESPONSE_BYTES = 1024 * 1024;

/** The control port of a simulated Mac, which acts for the people who text with it. */
export interface SimulatedMac {
  /** Rejects with a CliError unless the response has this shape. */
  call<T>(path: string, body: object, shape?: Shape): Promise<T>;
}

export function createSimulatedMac(url: string, timeoutMs: number): SimulatedMac {
  return {
    async call<T>(path: string, body: object, shape: Shape = {}): Promise<T> {
      const { status, text } = await post(url, path, body, timeoutMs);
      const answer = parsed(text);
      if (status === 200 && hasShape(answer, shape)) return answer as T;
      const reason = answer === undefined ? undefined : Reflect.get(answer, 'error');
      if (typeof reason !== 'string') throw notSimulated(url, `it responded with HTTP ${status}`);
      throw new CliError(`the simulated Mac rejected this: ${reason}`);
    },
  };
}

async function post(url: string, path: string, body: object, timeoutMs: number) {
  try {
    const response = await fetch(url + path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    });
    return { status: response.status, text: await readBounded(response, MAX_RESPONSE_BYTES) };
  } catch (error) {
    throw notSimulated(url, 'it does not respond', error);
  }
}

function parsed(text: string): object | undefined {
  const value = readJson(text);
  return typeof value === 'object' && value !== null ? value : undefined;
}

const notSimulated = (url: string, why: string, cause?: unknown) =>
  new CliError(`there is no simulated Mac at ${url}: ${why}`, {
    exitCode: EXIT.unreachable,
    next: 'start one with npx footbridge-agent run --simulate, or pass --control with its control port',
    cause,
  });
