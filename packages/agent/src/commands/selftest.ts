import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';

import { mark } from '@footbridge/runtime/finding';

import type { Settings } from '../config/config.ts';
import { callAgent } from '../edges/local-socket/local-client.ts';
import type { SelftestStep } from '../flows/selftest/selftest.ts';
import { thisInstallation } from '../install/installation.ts';
import { EXIT } from './exit-codes.ts';
import { killedSend } from './killed-send.ts';
import type { Output } from './output.ts';

const MARKS = { verified: mark('pass'), failed: mark('fail'), skipped: '–' } as const;

/** Lets the running agent try every capability. Prints a line for each and writes an anonymous record. */
export async function selftest(
  given: { to: string | undefined; group: string | undefined; lock: boolean; kill: boolean },
  { dataDir, programs }: Settings,
  output: Output,
): Promise<number> {
  const { to, lock, kill } = given;
  const group = given.group?.split(',').map((member) => member.trim());
  if (group !== undefined && group.length < 2) {
    output.problem('--group needs at least two of your own numbers or addresses, separated by commas.');
    return EXIT.usage;
  }
  const options = { lock, ...(to !== undefined && { to }), ...(group !== undefined && { group }) };
  const tried = await callAgent(
    dataDir,
    { call: 'selftest', options },
    {
      onStep: (step) => output.progress(lineOf(step)),
      onNote: (note) => output.progress(`\n${note}\n`),
    },
  );
  const last = await killedSend({ to, kill, dataDir }, thisInstallation(programs));
  output.progress(lineOf(last));
  const record = { ...tried, steps: [...tried.steps, last] };
  const file = resolve(`selftest-${record.macos.version}-${record.macos.build ?? 'simulated'}.json`);
  const json = JSON.stringify(record, null, 2);
  const isWritten = await writeFile(file, `${json}\n`).then(
    () => true,
    () => false,
  );
  const count = (verdict: SelftestStep['verdict']) =>
    record.steps.filter((step) => step.verdict === verdict).length;
  const [verified, failed, skipped] = [count('verified'), count('failed'), count('skipped')];
  const where = isWritten
    ? `The record is in ${file}; it contains no texts, names or numbers.`
    : `The record cannot be written to ${file}. Here it is:\n${json}`;
  const counts = `${verified} verified, ${failed} failed, ${skipped} skipped.`;
  output.result({ ...record, ...(isWritten && { file }) }, `${counts} ${where}`);
  return failed === 0 ? EXIT.done : EXIT.doctor;
}

function lineOf({ name, verdict, code, reason, tookMs }: SelftestStep): string {
  const why = [code, reason].filter((part) => part !== undefined).join(': ');
  return `${MARKS[verdict]} ${name.padEnd(16)} ${verdict}${why === '' ? '' : `, ${why}`} (${tookMs} ms)`;
}
