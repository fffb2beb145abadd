import { accessSync, closeSync, constants, existsSync, openSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

import { SQLITE_CORRUPT, SQLITE_NOTADB, sqliteCode } from '@footbridge/runtime/sqlite-code';
import { request } from 'undici';

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
import { failure, ok, warning } from './finding.ts';
import type { Finding } from './finding.ts';
import type { Output } from './output.ts';
import { reportOf } from './restart-agent.ts';

const MIN_FREE_MB = 500;
const MAX_SKEW_S = 30;

/** Checks everything the agent needs and prints what to do about each problem. */
export async function doctor(settings: Settings, output: Output): Promise<number> {
  const { simulate, programs } = settings;
  const report = await reportOf(settings.dataDir ?? '');
  const installation = thisInstallation(programs);
  const folder = checkFolder(settings.dataDir ?? '');
  const journal = checkJournal(settings);
  const isReadable = folder.verdict !== 'failure' && journal.verdict !== 'failure';
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
  const failures = findings.filter((finding) => finding.verdict === 'failure').length;
  const warnings = findings.filter((finding) => finding.verdict === 'warning').length;
  const lines = findings.map(
    ({ check, verdict, detail, next }) =>
      `  ${MARKS[verdict]} ${check.padEnd(11)} ${detail}${next === undefined ? '' : `\n    → ${next}`}`,
  );
  lines.push(`${failures} failures, ${warnings} warnings.`);
  output.result({ findings, failures, warnings }, lines.join('\n'));
  return failures === 0 ? EXIT.done : EXIT.doctor;
}

const MARKS = { ok: '✔', warning: '⚠', failure: '✖' } as const;

function checkNode(): Finding {
  return { check: 'Node', verdict: 'ok', detail: `${process.version} at ${process.execPath}` };
}

function checkSettings({ url, location }: Settings): Finding {
  const missing = [
    ...(url === undefined ? ['--url (FOOTBRIDGE_URL)'] : []),
    ...(location === undefined ? ['--location (FOOTBRIDGE_LOCATION)'] : []),
  ];
  if (missing.length === 0) return { check: 'Settings', verdict: 'ok', detail: 'url and location are set' };
  const next = 'Pass the missing settings as flags or environment variables';
  return { check: 'Settings', verdict: 'failure', detail: `missing: ${missing.join(', ')}`, next };
}

function checkFolder(dataDir: string): Finding {
  try {
    makeDataDir(dataDir);
    accessSync(dataDir, constants.R_OK | constants.W_OK);
    const { bavail, bsize } = statfsSync(dataDir);
    const freeMb = Math.floor((bavail * bsize) / 1024 / 1024);
    if (freeMb < MIN_FREE_MB) {
      return {
        check: 'Folder',
        verdict: 'failure',
        detail: `${freeMb} MB free`,
        next: `Free at least ${MIN_FREE_MB} MB on the disk`,
      };
    }
    return { check: 'Folder', verdict: 'ok', detail: `${dataDir}, ${freeMb} MB free` };
  } catch {
    const next = 'Pass a folder that you own with --data-dir';
    return { check: 'Folder', verdict: 'failure', detail: `${dataDir} is not writable`, next };
  }
}

function checkJournal({ dataDir, location }: Settings): Finding {
  if (!existsSync(journalPath(dataDir))) return { check: 'Journal', verdict: 'ok', detail: 'none yet' };
  try {
    const journal = openAgentJournalAsIs(dataDir, { readOnly: true });
    const { rejected, setAside } = journal.outbox.counts();
    const waiting = journal.jobs.pendingCount();
    const served = servedLocation(journal);
    const doubt = readClockDoubt(journal);
    journal.close();
    if (location !== undefined && served !== undefined && served !== location)
      return {
        check: 'Journal',
        verdict: 'failure',
        detail: `this data folder serves ${served}, not ${location}`,
        next: `Run footbridge-agent move ${location}, or use another --data-dir`,
      };
    if (rejected + setAside > 0) {
      return {
        check: 'Journal',
        verdict: 'warning',
        detail: `${rejected} messages rejected by the CRM, ${setAside} that cannot be delivered`,
        next: 'Ask the operator of the service to redeliver them',
      };
    }
    if (doubt !== undefined)
      return warning(
        'Journal',
        `old entries are not deleted, because the clock of this Mac is in doubt: ${doubt}`,
        'Turn on "Set time and date automatically". If the time is right, check the connection to the service, then restart the agent',
      );
    return { check: 'Journal', verdict: 'ok', detail: `readable, ${waiting} jobs waiting` };
  } catch (error) {
    return unreadableJournal(journalPath(dataDir), error);
  }
}

function unreadableJournal(path: string, error: unknown): Finding {
  if (error instanceof JournalTooNewError)
    return failure(
      'Journal',
      'written by a newer version of the agent',
      'Run npx footbridge-agent@latest update',
    );
  if (error instanceof JournalTooOldError)
    return warning(
      'Journal',
      'not upgraded to this version of the agent',
      'Update and start the agent, which upgrades the journal',
    );
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const detail = `not readable: ${cause instanceof Error ? cause.message : String(cause)}`;
  const code = sqliteCode(cause);
  if (code === SQLITE_CORRUPT || code === SQLITE_NOTADB)
    return failure(
      'Journal',
      detail,
      `Stop the agent and move ${path}, ${path}-wal and ${path}-shm away. Pending messages are then lost, messages received before the next start are not passed on, and a message that the CRM repeats is sent a second time`,
    );
  return failure(
    'Journal',
    detail,
    `Free disk space, check that you own ${path}, and try again. Keep the file: without it, messages may be sent a second time`,
  );
}

/** An agent that launchd starts has no other place to report this: its standard output is discarded. */
function checkLog({ logFile }: Settings): Finding[] {
  if (logFile === undefined) return [];
  try {
    checkWritable(logFile);
    return [ok('Log', logFile)];
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return [
      warning(
        'Log',
        `${logFile} cannot be opened, so the agent logs to standard output: ${reason}`,
        'Make the file and its folder writable for your user, then restart the agent',
      ),
    ];
  }
}

/** Throws if the agent cannot write to this file. Creates nothing: what `sudo` creates belongs to root. */
function checkWritable(path: string): void {
  if (existsSync(path)) return closeSync(openSync(path, 'a'));
  let folder = dirname(path);
  while (!existsSync(folder)) folder = dirname(folder);
  if (!statSync(folder).isDirectory()) throw new Error(`${folder} is not a folder`);
  accessSync(folder, constants.W_OK);
}

async function checkToken(dataDir: string): Promise<Finding> {
  const path = tokenPath(dataDir);
  if (!existsSync(path)) {
    const next = 'Run footbridge-agent pair CODE with a code from the operator of the service';
    return { check: 'License', verdict: 'warning', detail: 'this Mac is not activated', next };
  }
  if (process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0) {
    const next = `Run chmod 600 "${path}", then activate again, because the token may have leaked`;
    return { check: 'License', verdict: 'failure', detail: 'other users can read the device token', next };
  }
  if ((await findToken(dataDir)) === 'unusable')
    return failure(
      'License',
      `the device token in ${path} is damaged`,
      'Run footbridge-agent pair CODE with a code from the operator of the service',
    );
  return { check: 'License', verdict: 'ok', detail: 'activated' };
}

function checkEncryption({ url }: Settings): Finding[] {
  const fault = url === undefined ? undefined : unencryptedLink(url);
  return fault === undefined ? [] : [warning('Encryption', fault.detail, fault.next)];
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
    const reached: Finding =
      statusCode === 200
        ? { check: 'Service', verdict: 'ok', detail: `${url} answered in ${ms} ms` }
        : {
            check: 'Service',
            verdict: 'failure',
            detail: `${url} answered ${statusCode}`,
            next: 'Contact the operator of the service',
          };
    return [reached, checkClock(headers['date'])];
  } catch {
    const next = 'Check the URL, the network and the firewall';
    return [{ check: 'Service', verdict: 'failure', detail: `${url} cannot be reached`, next }];
  }
}

function checkClock(date: unknown): Finding {
  const serviceTime = typeof date === 'string' ? Date.parse(date) : Number.NaN;
  if (Number.isNaN(serviceTime))
    return { check: 'Clock', verdict: 'ok', detail: 'not compared: the service sent no Date header' };
  const skew = Math.round(Math.abs(Date.now() - serviceTime) / 1000);
  const detail = `differs from the service by ${skew} s`;
  if (skew <= MAX_SKEW_S) return { check: 'Clock', verdict: 'ok', detail };
  const next = 'Turn on "Set time and date automatically"';
  return { check: 'Clock', verdict: 'warning', detail, next };
}

const NOT_A_MAC = failure(
  'Messages',
  'this machine is not a Mac',
  'Add --simulate, or run the agent on a Mac',
);
