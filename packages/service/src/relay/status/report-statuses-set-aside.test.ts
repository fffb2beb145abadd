import { newRequestId } from '@footbridge/protocol/ids';
import { expect, it } from 'vitest';

import { SET_ASIDE } from '../../platform/suspects/suspects.ts';
import type { MessageName } from '../../platform/suspects/suspects.ts';
import { frame, lease, LOCATION, openCalls, publish, setUp } from './report-statuses.fixture.ts';

const reportOf = (requestId: string, messageId: string) => ({
  ...frame(requestId, 'failed', messageId),
  error: { code: 'SET_ASIDE', message: 'The agent ended twice.' },
});

function suspects(suspect?: string) {
  const setAside: string[] = [];
  return {
    setAside,
    suspects: {
      handle: async <T>({ id }: MessageName, work: () => Promise<T>) => (id === suspect ? SET_ASIDE : work()),
      setAside: async ({ locationId, id }: MessageName) => void setAside.push(`${locationId} ${id}`),
    },
  };
}

it('I10 a Mac sets aside only messages that it was sent, by the id that the CRM gave them', async () => {
  const { setAside, suspects: given } = suspects();
  const { put } = openCalls();
  const { reports, clock } = setUp(put, { suspects: given });
  await reports.reported(lease(), reportOf(newRequestId(clock.now() - 3_600_000), 'made-up'));
  expect(setAside).toEqual([]);
  const id = newRequestId();
  publish(reports, id, 'm1');
  expect(await reports.reported(lease(), reportOf(id, 'm2'))).toEqual({ outcome: 'delivered' });
  expect(setAside).toEqual([`${LOCATION} m1`]);
});

it('I10 a repeated report of a set-aside message still says that the agent ended', async () => {
  const { put, updates } = openCalls();
  const { reports } = setUp(put, { suspects: suspects('m1').suspects });
  const id = newRequestId();
  publish(reports, id, 'm1');
  await reports.reported(lease(), reportOf(id, 'm1'));
  expect(updates.at(-1)?.error?.message).toMatch(/^The agent on the Mac ended twice/);
});

it('I10 a report that ended the service twice is sent without the text of the Mac', async () => {
  const { put, updates } = openCalls();
  const { reports } = setUp(put, { suspects: suspects('m1').suspects });
  const id = newRequestId();
  publish(reports, id, 'm1');
  expect(await reports.reported(lease(), frame(id, 'failed', 'm1'))).toEqual({ outcome: 'delivered' });
  expect(updates.at(-1)?.error).toEqual({
    code: 'SET_ASIDE',
    message: expect.stringContaining('The service ended twice'),
  });
});
