import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';

import type { Settings } from '../config/config.ts';
import { callAgent } from '../edges/local-socket/local-client.ts';
import type { SelftestStep } from '../flows/selftest/selftest.ts';
import { thisInstallation } from '../install/installation.ts';
import { EXIT } from './exit-codes.ts';
import { killedSend } from './killed-send.ts';
import type { Output } from './output.ts';

const MARKS = { verified: '✔', failed: '✖', skipped: '–' } as const;

/** Lets the running agent try every capability, prints a line for each and writes an anonymous record. */
export async function selftest(
  given: { to: string | undefined; group: string | undefined; lock: boolean; kill: boolean },
  { dataDir = '', programs }: Settings,
  output: Output,
): Promise<number> {
  const { to, lock, kill } = given;
  const group = given.group?.split(',').map((member) => member.trim());
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
  await writeFile(file, `${JSON.stringify(record, null, 2)}\n`);
  const count = (verdict: SelftestStep['verdict']) =>
    record.steps.filter((step) => step.verdict === verdict).length;
  const [verified, failed, skipped] = [count('verified'), count('failed'), count('skipped')];
  output.result(
    { ...record, file },
    `${verified} verified, ${failed} failed, ${skipped} skipped. The record is in ${file}; it contains no texts, names or numbers.`,
  );
  return failed === 0 ? EXIT.done : EXIT.doctor;
}

function lineOf({ name, verdict, code, reason, tookMs }: SelftestStep): string {
  const why = [code, reason].filter((part) => part !== undefined).join(': ');
  return `${MARKS[verdict]} ${name.padEnd(16)} ${verdict}${why === '' ? '' : `, ${why}`} (${tookMs} ms)`;
}
