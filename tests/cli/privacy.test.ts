import { createCleanup } from '@footbridge/testkit/cleanup';
import { afterEach, expect, it } from 'vitest';

import { GOOD, LOCATION, OTHER_LOCATION, PHONE, TestBridge } from '../contract/test-bridge.ts';
import { runCli } from './run-cli.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

it('exports and erases the data of a person, with a number that is not in the arguments', async () => {
  const bridge = await TestBridge.start();
  cleanup.add(() => bridge.stop());
  await bridge.mac();
  for (let count = 0; count < 202; count++)
    expect((await bridge.post({ ...GOOD, messageId: `m${count}` })).status).toBe(200);
  const { operatorUrl, operatorToken } = bridge.bridge;
  const run = (args: string[]) =>
    runCli(
      ['privacy', ...args, '--phone', '-'],
      process.cwd(),
      { FOOTBRIDGE_OPERATOR_URL: operatorUrl, OPERATOR_TOKEN: operatorToken },
      `${PHONE}\n`,
    );

  const { lines } = await run(['export']);
  expect(lines.filter(({ type }) => type === 'message')).toHaveLength(202);
  expect(lines.filter(({ type }) => type === 'contact')).toHaveLength(1);
  expect((await run(['export', '--location', OTHER_LOCATION])).lines).toEqual([]);
  const unconfirmed = await run(['erase']);
  expect([unconfirmed.code, unconfirmed.stderr]).toEqual([2, expect.stringContaining('pass --yes')]);
  expect((await run(['erase', '--location', LOCATION, '--yes'])).lines).toEqual([
    { messages: 202, files: 0, optOutsKept: 0 },
  ]);
  expect((await run(['export'])).lines).toEqual([]);
});

it('lists and changes how long the data of a location is kept', async () => {
  const bridge = await TestBridge.start();
  cleanup.add(() => bridge.stop());
  const { operatorUrl, operatorToken } = bridge.bridge;
  const run = (args: string[]) =>
    runCli(['privacy', 'retention', ...args, '--yes'], process.cwd(), {
      FOOTBRIDGE_OPERATOR_URL: operatorUrl,
      OPERATOR_TOKEN: operatorToken,
    });
  expect((await run([LOCATION, '--journal-days', '7'])).lines).toEqual([
    { locationId: LOCATION, journalDays: 7, assetDays: null },
  ]);
  await run([LOCATION, '--asset-days', '3']);
  expect((await run([])).lines).toEqual([
    { locationId: 'all others', journalDays: 30, assetDays: 90 },
    { locationId: LOCATION, journalDays: 7, assetDays: 3 },
  ]);
  await run([LOCATION, '--asset-days', 'default', '--journal-days', 'default']);
  expect((await run([])).lines).toHaveLength(1);
  expect((await run([LOCATION, '--asset-days', '0'])).code).toBe(2);
  // More than one page of the list.
  const set = (count: number) =>
    bridge.operator('PUT', `/operator/privacy/retention/loc-${count}`, { journalDays: 1, assetDays: null });
  for (let from = 0; from < 1001; from += 50)
    await Promise.all(Array.from({ length: Math.min(50, 1001 - from) }, (_, index) => set(from + index)));
  expect((await run([])).lines).toHaveLength(1002);
});
