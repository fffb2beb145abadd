import { requestOf } from '@footbridge/protocol/operator/call';
import type { Arguments, Call, ResponseOf } from '@footbridge/protocol/operator/call';
import * as sessions from '@footbridge/protocol/operator/session';
import { readJson } from '@footbridge/protocol/read-json';
import { checkAgainst } from '@footbridge/protocol/schema';

import { signal } from '@preact/signals';

const unexpectedText = (reason: string) =>
  `The service sent an unexpected response: ${reason}. Reload this page.`;

type Session = ResponseOf<typeof sessions.showSession>;

/** Undefined: not known yet. Null: not signed in. */
export const session = signal<Session | null | undefined>(undefined);
/** Why the page shows the sign-in form, or no data. */
export const notice = signal<string | undefined>(undefined);
export const isReachable = signal(true);

/** How far the service's clock is ahead of the browser's. Either may be wrong; the pages show the service's times. */
export const clockOffsetMs = signal(0);
/** The time of the service. */
export const serverTime = (): number => Date.now() + clockOffsetMs.value;

export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const NOTHING = { type: 'null' } as const;

/** Asks for a call of the operator API. Throws an ApiError; a 401 also ends the session of this page. */
export async function call<const C extends Call>(
  definition: C,
  ...input: Arguments<C>
): Promise<ResponseOf<C>>;
export async function call(definition: Call, input: object = {}): Promise<unknown> {
  const { method, path, body } = requestOf(definition, { ...input });
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      headers: {
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...(method !== 'GET' && { 'X-CSRF-Token': session.value?.csrf ?? '' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  } catch {
    isReachable.value = false;
    throw new ApiError(0, 'The service does not respond. This page tries again every few seconds.');
  }
  isReachable.value = response.status < 500;
  noteClock(response.headers.get('date'));
  const text = await response.text();
  const json = readJson(text);
  if (response.ok) {
    const checked = checkAgainst(definition.response ?? NOTHING, json ?? null);
    if (checked.ok) return checked.value;
    throw new ApiError(response.status, unexpectedText(checked.reason));
  }
  if (response.status === 401 && session.value) {
    session.value = null;
    notice.value = 'You were signed out: the session has expired, or its token was removed.';
  }
  const { message, error } = (json ?? {}) as { message?: string; error?: string };
  throw new ApiError(
    response.status,
    message ?? error ?? 'The service does not respond. This page tries again every few seconds.',
  );
}

/** A smaller difference is ignored: the header has whole seconds, and the response took time to arrive. */
const TOLERANCE_MS = 2000;

function noteClock(date: string | null): void {
  const offset = Date.parse(date ?? '') - Date.now();
  if (Math.abs(offset - clockOffsetMs.value) > TOLERANCE_MS) clockOffsetMs.value = offset;
}

const RETRY_MS = 3000;
/** Why a sign-in link does not work, by status. */
const LINK_PROBLEMS: Readonly<Record<number, string>> = {
  401: 'This sign-in link has been used already, or it is more than a minute old. Run “footbridge console” for a new one.',
  429: 'Too many sign-ins failed. Wait a minute, then run “footbridge console” for a new link.',
};

/** Returns the code of a sign-in link and removes it from the address. It is in the fragment, which browsers do not send to servers. */
function takeCode(): string | undefined {
  const [, code] = /^#code=([\w-]+)$/.exec(window.location.hash) ?? [];
  if (code !== undefined) history.replaceState(null, '', window.location.pathname + window.location.search);
  return code;
}

/** Signs in with the code of the link, or restores the existing session. Retries while the service does not respond. */
export async function startSession(code = takeCode()): Promise<void> {
  try {
    session.value =
      code === undefined ? await call(sessions.showSession) : await call(sessions.signIn, { code });
  } catch (error) {
    const status = error instanceof ApiError ? error.status : 0;
    if (status < 400 || status >= 500) return void setTimeout(() => void startSession(code), RETRY_MS);
    if (code === undefined) return void (session.value = null);
    notice.value =
      LINK_PROBLEMS[status] ?? 'This sign-in link is not complete. Run “footbridge console” for a new one.';
    // The browser may have an earlier session.
    await startSession();
  }
}

export async function signIn(token: string): Promise<void> {
  try {
    session.value = await call(sessions.signIn, { token });
    notice.value = undefined;
  } catch (error) {
    // The message of the service explains the Authorization header, which this form does not use.
    throw error instanceof ApiError && error.status === 401
      ? new ApiError(
          401,
          'The service does not accept this token. Check that it is complete, and that it was not removed.',
        )
      : error;
  }
}

export async function signOut(): Promise<void> {
  await call(sessions.signOut);
  session.value = null;
}
