import { request } from 'undici';

const TIMEOUT_MS = 10_000;
const MAX_BODY_BYTES = 65_536;

/** Asks the service for its time. Resolves with undefined when there is no response, or no time in it. */
export async function askServiceTime(url: string, stopped: AbortSignal): Promise<number | undefined> {
  try {
    const { headers, body } = await request(`${url}/health`, {
      signal: AbortSignal.any([stopped, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    await body.dump({ limit: MAX_BODY_BYTES });
    const time = Date.parse(String(headers['date'] ?? ''));
    return Number.isNaN(time) ? undefined : time;
  } catch {
    return undefined;
  }
}
