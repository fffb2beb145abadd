import { setTimeout as sleep } from 'node:timers/promises';

import { fail, notTried, pass } from './check.ts';
import type { Outcome } from './check.ts';
import type { ConformanceRun } from './conformance-run.ts';
import { isAccepted } from './crm-api.ts';
import type { CrmApi, CrmResponse, NoResponse } from './crm-api.ts';
import type { Person } from './person.ts';
import type { StoredMessages } from './stored-messages.ts';

export interface StatusDeps {
  readonly run: ConformanceRun;
  readonly api: CrmApi;
  readonly stored: StoredMessages;
  readonly person: Person;
  /** Messages that the CRM sent. */
  readonly messageIds: readonly string[];
  readonly signal: AbortSignal;
}

/** Some CRMs accept a status only after the message has been stored everywhere. */
const TOO_NEW = /no conversation provider found for this message/i;
const SETTLE_MS = 15_000;
const POLL_MS = 500;
const NO_ID = notTried(
  'no message that the CRM sent is known',
  'make the CRM send messages (--send-url), or pass --message-id with the id of a message that it sent',
);

/** Checks the statuses that the service reports for messages of the CRM. */
export async function checkStatuses(deps: StatusDeps): Promise<void> {
  const { run, api, messageIds } = deps;
  const [first, second] = messageIds;
  if (first === undefined)
    return await run.skip(['statuses', 'repeatedStatus', 'lateStatus', 'failedStatus'], NO_ID);
  const statuses = await run.check('statuses', () => checkDelivered(deps, first));
  if (statuses.state !== 'pass')
    await run.skip(
      ['repeatedStatus', 'lateStatus'],
      notTried('STATUS1 failed', 'fix STATUS1, then run the check again'),
    );
  else {
    await run.check('repeatedStatus', async () => {
      const response = await put(deps, first, { status: 'delivered' });
      return isAccepted(response) ? pass('delivered twice: both accepted') : fail(api.describe(response));
    });
    await run.check('lateStatus', () => checkLate(deps, first));
  }
  await run.check('failedStatus', async () => {
    if (second === undefined) return NO_ID;
    const error = { code: 'CONFORMANCE_UNKNOWN_CODE', type: 'error', message: 'A conformance test.' };
    const response = await put(deps, second, { status: 'failed', error });
    return isAccepted(response) ? pass('accepted') : fail(api.describe(response));
  });
}

async function put(
  { api, signal }: StatusDeps,
  messageId: string,
  body: object,
): Promise<CrmResponse | NoResponse> {
  const path = `/conversations/messages/${encodeURIComponent(messageId)}/status`;
  const started = performance.now();
  for (;;) {
    const response = await api.call({ method: 'PUT', path, body });
    const isTooNew = !('reason' in response) && response.status === 403 && TOO_NEW.test(response.text);
    if (!isTooNew || performance.now() - started > SETTLE_MS) return response;
    await sleep(POLL_MS, undefined, { signal });
  }
}

async function checkDelivered(deps: StatusDeps, messageId: string): Promise<Outcome> {
  const { api, stored, signal } = deps;
  for (const status of ['pending', 'delivered']) {
    const response = await put(deps, messageId, { status });
    if (!isAccepted(response)) return fail(`${status}: ${api.describe(response)}`);
  }
  const started = performance.now();
  for (;;) {
    const shown = await stored.status(messageId);
    if (shown === undefined) return pass('both accepted; the CRM has no call that returns the status');
    if (shown === 'delivered' || shown === 'read') return pass('both accepted; the CRM shows delivered');
    if (performance.now() - started > SETTLE_MS)
      return fail(`both accepted, but the CRM shows ${shown}`, 'show the latest reported status');
    await sleep(POLL_MS, undefined, { signal });
  }
}

async function checkLate(deps: StatusDeps, messageId: string): Promise<Outcome> {
  const { stored, person, signal } = deps;
  const response = await put(deps, messageId, { status: 'pending' });
  if (response.status >= 400 && response.status < 500)
    return pass(`the late pending is rejected with HTTP ${response.status}`);
  // Reads may lag behind writes.
  await sleep(POLL_MS, undefined, { signal });
  const shown = await stored.status(messageId);
  if (shown === undefined) {
    const answer = await person.confirm('Does the CRM show the newest conformance message as delivered?');
    if (answer !== undefined)
      return answer
        ? pass('confirmed: the CRM shows delivered')
        : fail('not confirmed: the CRM does not show delivered');
    return notTried(
      'the status of a message cannot be read',
      'pass --status-url with an address that returns {"status":…} for {messageId}, or check the message in the CRM yourself',
    );
  }
  return shown === 'delivered' || shown === 'read'
    ? pass('the CRM still shows delivered')
    : fail(`the CRM shows ${shown} after delivered`);
}
