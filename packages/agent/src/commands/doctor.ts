import { accessSync, closeSync, constants, existsSync, openSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

import { SQLITE_CORRUPT, SQLITE_NOTADB, sqliteCode } from '@footbridge/runtime/sqlite-code';
import { request } from 'undici';
import { counted } from '@footbridge/runtime/counted';
import { countFindings, fail, formatCounts, formatFindings, pass, warn } from '@footbridge/runtime/finding';
import type { Finding } from '@footbridge/runtime/finding';

import type { Settings } from '../config/config.ts';
import { unencryptedLink } from '../config/unencrypted-link.ts';
import { journalPath, makeDataDir } from '../edges/data-dir.ts';
import { findToken, tokenPath } from '../edges/enrolment/token-file.ts';
import { reasonToStayAway } from '../edges/stay-away.ts';
import { JournalTooNewError, JournalTooOldError } from '../errors.ts';
import { readClockDoubt } from '../flows/link/clock-doubt.ts';
import { servedLocation } from '../flows/link/served-location.ts';
import { thisInstallation } from '../install/installation.ts';
import { examineBlueBubblesOf } from '../open/bluebubbles.ts';
import { openAgentJournalAsIs } from '../open/journal.ts';
import { checkAgent } from './check-agent.ts';
import { checkMac } from './check-mac.ts';
import { EXIT } from './exit-codes.ts';
import type { Output } from './output.ts';
import { reportOf } from './restart-agent.ts';

const MIN_FREE_MB = 500;
const MAX_SKEW_S = 30;

/** Checks everything that the agent needs, and prints what to do about each problem. */
export async function doctor(settings: Settings, output: Output): Promise<number> {
  const { simulate, programs } = settings;
  const report = await reportOf(settings.dataDir ?? '');
  const installation = thisInstallation(programs);
  const folder = checkFolder(settings.dataDir ?? '');
  const journal = checkJournal(settings);
  const isReadable = folder.state !== 'fail' && journal.state !== 'fail';
  const usesBlueBubbles = settings.engine === 'bluebubbles' && !simulate;
  const findings = [
    checkNode(),
    checkSettings(settings),
    folder,
    journal,
    ...checkLog(settings),
    await checkToken(settings.dataDir ?? ''),
    ...checkEncryption(settings),
    ...(settings.url === undefined ? [] : await checkService(settings.url)),
    ...checkAgent(report, simulate, {
      stoppedBecause: reasonToStayAway(settings.dataDir ?? ''),
      isInstalled: !simulate && installation !== undefined && existsSync(installation.layout.current),
    }),
    ...(usesBlueBubbles && isReadable ? await checkBlueBubbles(settings) : []),
    ...(installation === undefined || simulate
      ? []
      : await checkMac(installation, report?.uiAutomation ?? !usesBlueBubbles)),
    ...(installation === undefined && !simulate ? [NOT_A_MAC] : []),
  ];
  const counts = countFindings(findings);
  output.result(
    { findings: findings.map(withFormerNames), ...counts },
    [...formatFindings(findings), formatCounts(counts)].join('\n'),
  );
  return counts.failures === 0 ? EXIT.done : EXIT.doctor;
}

const FORMER_STATES = { pass: 'ok', warn: 'warning', fail: 'failure' } as const;

/** Programs that read the JSON may know only the names before `state` and `sentence`. */
const withFormerNames = (finding: Finding) => ({
  ...finding,
  verdict: FORMER_STATES[finding.state],
  detail: finding.sentence,
});

function checkNode(): Finding {
  return pass('Node', `${process.version} at ${process.execPath}`);
}

function checkSettings({ url, location }: Settings): Finding {
  const missing = [
    ...(url === undefined ? ['--url (FOOTBRIDGE_URL)'] : []),
    ...(location === undefined ? ['--location (FOOTBRIDGE_LOCATION)'] : []),
  ];
  if (missing.length === 0) return pass('Settings', 'url and location are set');
  return fail(
    'Settings',
    `missing: ${missing.join(', ')}`,
    'Pass the missing settings as flags or environment variables',
  );
}

function checkFolder(dataDir: string): Finding {
  try {
    makeDataDir(dataDir);
    accessSync(dataDir, constants.R_OK | constants.W_OK);
    const { bavail, bsize } = statfsSync(dataDir);
    const freeMb = Math.floor((bavail * bsize) / 1024 / 1024);
    if (freeMb < MIN_FREE_MB)
      return fail('Folder', `${freeMb} MB free`, `Free at least ${MIN_FREE_MB} MB on the disk`);
    return pass('Folder', `${dataDir}, ${freeMb} MB free`);
  } catch {
    return fail('Folder', `${dataDir} is not writable`, 'Pass a folder that you own with --data-dir');
  }
}

function checkJournal({ dataDir, location }: Settings): Finding {
  if (!existsSync(journalPath(dataDir))) return pass('Journal', 'none yet');
  try {
    const journal = openAgentJournalAsIs(dataDir, { readOnly: true });
    const { rejected, setAside } = journal.outbox.counts();
    const waiting = journal.jobs.pendingCount();
    const served = servedLocation(journal);
    const doubt = readClockDoubt(journal);
    journal.close();
    if (location !== undefined && served !== undefined && served !== location)
      return fail(
        'Journal',
        `this data folder serves ${served}, not ${location}`,
        `Run footbridge-agent move ${location}, or use another --data-dir`,
      );
    if (rejected + setAside > 0)
      return warn(
        'Journal',
        `${counted(rejected, 'message')} rejected by the CRM, ${setAside} that cannot be delivered`,
        'Ask the operator of the service to redeliver them',
      );
    if (doubt !== undefined)
      return warn(
        'Journal',
        `old entries are not deleted, because the clock of this Mac is in doubt: ${doubt}`,
        'Turn on "Set time and date automatically". If the time is right, check the connection to the service, then restart the agent',
      );
    return pass('Journal', `readable, ${counted(waiting, 'job')} waiting`);
  } catch (error) {
    return unreadableJournal(journalPath(dataDir), error);
  }
}

function unreadableJournal(path: string, error: unknown): Finding {
  if (error instanceof JournalTooNewError)
    return fail(
      'Journal',
      'written by a newer version of the agent',
      'Run npx footbridge-agent@latest update',
    );
  if (error instanceof JournalTooOldError)
    return warn(
      'Journal',
      'not upgraded to this version of the agent',
      'Update and start the agent, which upgrades the journal',
    );
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const sentence = `not readable: ${cause instanceof Error ? cause.message : String(cause)}`;
  const code = sqliteCode(cause);
  if (code === SQLITE_CORRUPT || code === SQLITE_NOTADB)
    return fail(
      'Journal',
      sentence,
      `Stop the agent and move ${path}, ${path}-wal and ${path}-shm away. Pending messages are then lost, messages received before the next start are not passed on, and a message that the CRM repeats is sent a second time`,
    );
  return fail(
    'Journal',
    sentence,
    `Free disk space, check that you own ${path}, and try again. Keep the file: without it, messages may be sent a second time`,
  );
}

/** Checks the log file. The agent cannot report this problem itself, because launchd discards its standard output. */
function checkLog({ logFile }: Settings): Finding[] {
  if (logFile === undefined) return [];
  try {
    checkWritable(logFile);
    return [pass('Log', logFile)];
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return [
      warn(
        'Log',
        `${logFile} cannot be opened, so the agent logs to standard output: ${reason}`,
        'Make the file and its folder writable for your user, then restart the agent',
      ),
    ];
  }
}

/** Throws if the agent cannot write to this file. Creates no file: under `sudo`, the file would belong to root. */
function checkWritable(path: string): void {
  if (existsSync(path)) return closeSync(openSync(path, 'a'));
  let folder = dirname(path);
  while (!existsSync(folder)) folder = dirname(folder);
  if (!statSync(folder).isDirectory()) throw new Error(`${folder} is not a folder`);
  accessSync(folder, constants.W_OK);
}

const PAIR_AGAIN = 'Run footbridge-agent pair CODE with a code from the operator of the service';

async function checkToken(dataDir: string): Promise<Finding> {
  const path = tokenPath(dataDir);
  if (!existsSync(path)) return warn('License', 'this Mac is not activated', PAIR_AGAIN);
  if (process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0)
    return fail(
      'License',
      'other users can read the device token',
      `Run chmod 600 "${path}", then activate again, because the token may have leaked`,
    );
  if ((await findToken(dataDir)) === 'unusable')
    return fail('License', `the device token in ${path} is damaged`, PAIR_AGAIN);
  return pass('License', 'activated');
}

function checkEncryption({ url }: Settings): Finding[] {
  const fault = url === undefined ? undefined : unencryptedLink(url);
  return fault === undefined ? [] : [warn('Encryption', fault.detail, fault.next)];
}

async function checkBlueBubbles(settings: Settings): Promise<Finding[]> {
  const { dataDir, bluebubblesUrl, bluebubblesPasswordFile } = settings;
  return await examineBlueBubblesOf({ dataDir, bluebubblesUrl, bluebubblesPasswordFile });
}

async function checkService(url: string): Promise<Finding[]> {
  try {
    const started = performance.now();
    const { statusCode, headers, body } = await request(`${url}/health`, {
      signal: AbortSignal.timeout(10_000),
    });
    await body.dump();
    const ms = Math.round(performance.now() - started);
    const reached =
      statusCode === 200
        ? pass('Service', `${url} responded in ${ms} ms`)
        : fail('Service', `${url} responded with HTTP ${statusCode}`, 'Contact the operator of the service');
    return [reached, checkClock(headers['date'])];
  } catch {
    return [fail('Service', `${url} cannot be reached`, 'Check the URL, the network and the firewall')];
  }
}

function checkClock(date: unknown): Finding {
  const serviceTime = typeof date === 'string' ? Date.parse(date) : Number.NaN;
  if (Number.isNaN(serviceTime)) return pass('Clock', 'not compared: the service sent no Date header');
  const skew = Math.round(Math.abs(Date.now() - serviceTime) / 1000);
  const sentence = `differs from the service by ${skew} s`;
  if (skew <= MAX_SKEW_S) return pass('Clock', sentence);
  return warn('Clock', sentence, 'Turn on "Set time and date automatically"');
}

const NOT_A_MAC = fail('Messages', 'this machine is not a Mac', 'Add --simulate, or run the agent on a Mac');
