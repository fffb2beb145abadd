import { DatabaseSync } from 'node:sqlite';

import type { MessageStatusFrame } from '@footbridge/protocol/frames';
import type { SimulatedBlueBubbles } from '@footbridge/testkit/bluebubbles';
import type { LogLine } from '@footbridge/testkit/program';

import type { PlannedJob } from './bluebubbles-jobs.ts';

type Control = SimulatedBlueBubbles['control'];
type Call = Awaited<ReturnType<Control['calls']>>[number];
type Performed = Awaited<ReturnType<Control['performed']>>[number];

export interface RunEvidence {
  readonly calls: readonly Call[];
  readonly performed: readonly Performed[];
  readonly logs: readonly LogLine[];
  readonly storePath: string;
  /** How long Messages takes to write a row and to send it. */
  readonly rowMs: number;
}

export interface RunReport {
  readonly jobs: number;
  readonly faults: number;
  readonly kills: number;
  readonly delivered: number;
  readonly failed: number;
  readonly unknown: number;
  /** Jobs for which the agent asked the server more than once for the same service. */
  readonly doubledByUs: readonly string[];
  readonly wrongChat: readonly string[];
  /** Jobs whose status contradicts the message store. */
  readonly wrongCode: readonly string[];
  /** Jobs that were sent, not killed, and reported as unknown. */
  readonly unknownThoughSent: readonly string[];
  /** Jobs that two helpers sent, and those of them that were not reported. */
  readonly copied: number;
  readonly copiesNotReported: readonly string[];
  /** Of texts without a fault: the time from the start of the job to its end, without the time until the row, in milliseconds. */
  readonly textMs: { readonly median: number; readonly p95: number };
}

type Verdict = 'delivered' | 'failed' | 'unknown';

/** Compares the status of each job with what the server was asked, and with what Messages did. */
export function judge(ended: ReadonlyMap<PlannedJob, MessageStatusFrame>, evidence: RunEvidence): RunReport {
  const rows = readOwnRows(evidence.storePath);
  const jobs = [...ended].map(([job, status]) => {
    const commands = evidence.performed.filter(({ command }) => tokenOf(command) === job.token);
    return {
      job,
      name: nameOf(job, status),
      verdict: verdictOf(job, status),
      calls: evidence.calls.filter(({ fields }) => tokenInCall(fields) === job.token),
      commands,
      // A reaction counts when it appears (M6).
      sent: commands.some(
        ({ guid }) => rows.get(guid) === 'sent' || (job.kind === 'reaction' && rows.has(guid)),
      ),
    };
  });
  const names = (wanted: (entry: (typeof jobs)[number]) => boolean): string[] =>
    jobs.filter(wanted).map(({ name }) => name);
  const count = (verdict: Verdict): number => jobs.filter((entry) => entry.verdict === verdict).length;
  const copied = jobs.filter(({ commands, job }) => {
    const services = commands.map(({ command }) => command.to.service);
    return job.kind !== 'reaction' && new Set(services).size < services.length;
  });
  const reported = evidence.logs.filter((line) => line['event'] === 'bluebubbles.sent_twice');
  return {
    jobs: jobs.length,
    faults: jobs.filter(({ job }) => job.fault !== undefined).length,
    kills: jobs.filter(({ job }) => job.killAfterMs !== undefined).length,
    delivered: count('delivered'),
    failed: count('failed'),
    unknown: count('unknown'),
    doubledByUs: names(
      ({ calls }) => countOf(calls, isSms) > 1 || countOf(calls, (call) => !isSms(call)) > 1,
    ),
    wrongChat: names(({ job, commands }) =>
      commands.some(({ command }) => !isSame(command.to.members, job.members)),
    ),
    wrongCode: names(({ job, verdict, sent }) => isWrong(job, verdict, sent)),
    unknownThoughSent: names(
      ({ job, verdict, sent }) => verdict === 'unknown' && sent && job.killAfterMs === undefined,
    ),
    copied: copied.length,
    copiesNotReported: copied
      .filter(({ job, commands }) => {
        const isReported = reported.some((line) =>
          commands.some(({ guid }) => JSON.stringify(line['guids']).includes(guid)),
        );
        return !isReported && job.killAfterMs === undefined;
      })
      .map(({ name }) => name),
    textMs: latencyOf(
      jobs.map(({ job }) => job),
      evidence,
    ),
  };
}

/** Whether a status is not the right one. `unknown` is wrong only where nothing went wrong, or where the server refused. */
function isWrong(job: PlannedJob, verdict: Verdict, sent: boolean): boolean {
  if (verdict === 'delivered') return !sent;
  if (verdict === 'failed') return sent;
  if (job.killAfterMs !== undefined) return false;
  return job.fault === undefined || job.fault.name === 'refused: not connected';
}

function verdictOf({ kind }: PlannedJob, { status, error }: MessageStatusFrame): Verdict {
  if (status === 'delivered') return 'delivered';
  // A reaction that did not appear in time can be repeated safely, so it is not called unknown.
  const isOpen =
    error?.message.includes('outcome unknown') === true || (kind === 'reaction' && error?.code === 'TIMEOUT');
  return isOpen ? 'unknown' : 'failed';
}

function nameOf(
  { index, kind, fault, killAfterMs }: PlannedJob,
  { status, error }: MessageStatusFrame,
): string {
  const killed = killAfterMs === undefined ? '' : `, killed after ${Math.round(killAfterMs)} ms`;
  const why = error === undefined ? '' : ` ${error.code}: ${error.message}`;
  return `job ${index} (${kind}, ${fault?.name ?? 'no fault'}${killed}): ${status}${why}`;
}

function tokenOf({ text, file, tapback }: Performed['command']): string | undefined {
  return tapback?.target ?? file?.name ?? text;
}

/** A reaction may be asked for again: its state is looked up first. */
function tokenInCall(fields: Call['fields']): unknown {
  return fields['message'] ?? fields['name'];
}

function isSms({ fields }: Call): boolean {
  const { chatGuid, service } = fields;
  return service === 'SMS' || (typeof chatGuid === 'string' && chatGuid.startsWith('SMS'));
}

function countOf(calls: readonly Call[], wanted: (call: Call) => boolean): number {
  return calls.filter(wanted).length;
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((handle) => other.includes(handle));
}

/** The own rows of the store by GUID. */
function readOwnRows(storePath: string): ReadonlyMap<string, 'sent' | 'not sent'> {
  const db = new DatabaseSync(storePath, { readOnly: true });
  const rows = db
    .prepare('SELECT guid, is_sent AND error = 0 AS sent FROM message WHERE is_from_me = 1')
    .all();
  db.close();
  return new Map(rows.map((row) => [String(row['guid']), row['sent'] === 1 ? 'sent' : 'not sent']));
}

function latencyOf(jobs: readonly PlannedJob[], { logs, rowMs }: RunEvidence): RunReport['textMs'] {
  const clean = new Set(
    jobs
      .filter((job) => job.kind === 'text' && job.fault === undefined && job.killAfterMs === undefined)
      .map(({ frame }) => frame.messageId),
  );
  const times = logs
    .filter((line) => line['event'] === 'queue.job_ended' && clean.has(String(line['messageId'])))
    .map((line) => Number(line['tookMs']) - rowMs)
    .sort((one, other) => one - other);
  const at = (share: number): number => times[Math.floor(times.length * share)] ?? 0;
  return { median: at(0.5), p95: at(0.95) };
}
