import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, it, onTestFinished } from 'vitest';

import { until } from '../until.ts';
import { Launchctl } from './launchctl.ts';
import { Launchd } from './launchd.ts';

it('restarts a job as it was loaded, while its property list is being replaced', async () => {
  const home = mkdtempSync(join(tmpdir(), 'footbridge-'));
  const launchd = new Launchd(home);
  onTestFinished(() => {
    launchd.stopAll();
    rmSync(home, { recursive: true, maxRetries: 5 });
  });
  const [path, starts] = [join(home, 'job.plist'), join(home, 'starts')];
  writeFileSync(path, plistOf(['/bin/sh', '-c', `echo started >> ${starts}`], join(home, 'stay-away')));
  writeFileSync(starts, '');

  expect(new Launchctl(launchd).run(['bootstrap', 'gui/501', path])).toEqual({});
  writeFileSync(path, '');

  await until(() => readFileSync(starts, 'utf8').split('\n').length > 3);
});

const plistOf = (args: readonly string[], stayAway: string) => `<plist><dict>
  <key>Label</key><string>job</string>
  <key>ProgramArguments</key><array>${args.map((arg) => `<string>${arg.replaceAll('>', '&gt;')}</string>`).join('')}</array>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>PathState</key><dict><key>${stayAway}</key><false/></dict></dict>
</dict></plist>`;
