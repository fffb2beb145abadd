import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';

import { parseServiceFrame, writeFrame } from '@footbridge/protocol/frames';
import type { SendFrame } from '@footbridge/protocol/frames';

import type { JobOutcome } from '../outcome.ts';
import type { Job, Jobs, Step } from './journal.ts';
import { lazyStatements } from './sqlite-statement.ts';

export function sqliteJobs(db: DatabaseSync): Jobs & { prune(before: number): void } {
  const prepare = lazyStatements(db);
  const find = prepare('SELECT * FROM job WHERE key = ?');
  const findByRequest = prepare(
    'SELECT job.* FROM request JOIN job ON job.key = request.key WHERE request_id = ?',
  );
  const drop = prepare('DELETE FROM job WHERE key = ?');
  const insert = prepare(
    "INSERT INTO job (key, message_id, fingerprint, state, frame, changed_at) VALUES (?, ?, ?, 'queued', ?, ?)",
  );
  const attachRequest = prepare(
    `INSERT INTO request (request_id, key, created_at) VALUES (?, ?, ?)
     ON CONFLICT (request_id) DO UPDATE SET answered = 0`,
  );
  const pending = prepare("SELECT count(*) AS n FROM job WHERE state IN ('queued', 'begun')");
  const oldestPending = prepare(
    "SELECT changed_at AS at FROM job WHERE state IN ('queued', 'begun') ORDER BY place LIMIT 1",
  );
  // Jobs end in the order of their places, so the newest place comes first and few rows are read.
  const lastDelivered = prepare(
    "SELECT changed_at AS at FROM job WHERE state = 'delivered' ORDER BY place DESC LIMIT 1",
  );
  const inOrder = `SELECT * FROM job WHERE state = 'queued'
     ORDER BY key IN (SELECT key FROM step WHERE done = 0) DESC, place`;
  const next = prepare(`${inOrder} LIMIT 1`);
  const queued = prepare(inOrder);
  const interrupted = prepare("SELECT * FROM job WHERE state = 'begun' ORDER BY place");
  const setState = prepare('UPDATE job SET state = ? WHERE key = ?');
  const end = prepare(
    'UPDATE job SET state = ?, guid = ?, error_code = ?, error_message = ?, frame = NULL, changed_at = ? WHERE key = ?',
  );
  const unanswered = prepare(
    'SELECT request_id FROM request WHERE key = ? AND answered = 0 ORDER BY created_at, request_id',
  );
  const answer = prepare('UPDATE request SET answered = 1 WHERE key = ?');
  const findStep = prepare('SELECT * FROM step WHERE key = ? AND name = ?');
  const sentBy = prepare(
    `SELECT 1 FROM step WHERE guid = ?1
     UNION ALL SELECT 1 FROM step WHERE content = ?2 AND (begun_at >= ?3 OR (done = 0 AND begun_at >= ?4)) LIMIT 1`,
  );
  const anyStep = prepare('SELECT 1 FROM step WHERE key = ? LIMIT 1');
  const unfinishedSteps = prepare('SELECT * FROM step WHERE key = ? AND done = 0');
  const beginStep = prepare(
    'INSERT INTO step (key, name, watermark, content, file_name, begun_at) VALUES (?, ?, ?, ?, ?, ?)',
  );
  const finishStep = prepare('UPDATE step SET done = 1, guid = ? WHERE key = ? AND name = ?');
  const discardStep = prepare('DELETE FROM step WHERE key = ? AND name = ?');
  const forgetFileNames = prepare('UPDATE step SET file_name = NULL WHERE key = ?');
  const pruneJobs = prepare("DELETE FROM job WHERE state NOT IN ('queued', 'begun') AND changed_at < ?");
  const pruneSteps = prepare('DELETE FROM step WHERE key NOT IN (SELECT key FROM job)');
  const pruneRequests = prepare('DELETE FROM request WHERE key NOT IN (SELECT key FROM job)');

  return {
    find: (key) => readJob(find.get(key)),
    findByRequest: (requestId) => readJob(findByRequest.get(requestId)),
    enqueue: (key, fingerprint, frame, now) => {
      drop.run(key);
      insert.run(key, frame.messageId, fingerprint, writeFrame(frame), now);
    },
    attachRequest: (requestId, key, now) => void attachRequest.run(requestId, key, now),
    pendingCount: () => Number(pending.get()?.['n']),
    oldestPendingAt: () => readTime(oldestPending.get()),
    lastDeliveredAt: () => readTime(lastDelivered.get()),
    next: () => readJob(next.get()),
    queued: () => queued.all().flatMap((row) => readJob(row) ?? []),
    interrupted: () => interrupted.all().flatMap((row) => readJob(row) ?? []),
    begin: (key) => void setState.run('begun', key),
    requeue: (key) => void setState.run('queued', key),
    end: (key, outcome, now) => {
      const [guid, code, message] =
        outcome.state === 'delivered' ? [outcome.guid] : [undefined, outcome.code, outcome.message];
      end.run(outcome.state, guid ?? null, code ?? null, message ?? null, now, key);
      forgetFileNames.run(key);
    },
    takeUnanswered: (key) => {
      const requests = unanswered.all(key).map((row) => String(row['request_id']));
      answer.run(key);
      return requests;
    },
    findStep: (key, name) => readStep(findStep.get(key, name)),
    hasSteps: (key) => anyStep.get(key) !== undefined,
    mayHaveSent: ({ guid, content, recentlyAt, unfinishedAt }) =>
      sentBy.get(guid, content, recentlyAt, unfinishedAt) !== undefined,
    unfinishedSteps: (key) => unfinishedSteps.all(key).flatMap((row) => readStep(row) ?? []),
    beginStep: (key, name, watermark, trace) =>
      void beginStep.run(
        key,
        name,
        watermark,
        trace?.content ?? null,
        trace?.fileName ?? null,
        trace?.at ?? 0,
      ),
    finishStep: (key, name, guid) => void finishStep.run(guid, key, name),
    discardStep: (key, name) => void discardStep.run(key, name),
    prune: (before) => {
      pruneJobs.run(before);
      pruneSteps.run();
      pruneRequests.run();
    },
  };
}

type Row = Record<string, SQLOutputValue> | undefined;

function readJob(row: Row): Job | undefined {
  if (row === undefined) return undefined;
  return {
    key: String(row['key']),
    messageId: text(row['message_id']) ?? null,
    fingerprint: String(row['fingerprint']),
    get frame() {
      return readFrame(text(row['frame']));
    },
    outcome: readOutcome(row),
    changedAt: Number(row['changed_at']),
  };
}

function readOutcome(row: NonNullable<Row>): JobOutcome | undefined {
  const state = text(row['state']);
  if (state === 'queued' || state === 'begun') return undefined;
  if (state === 'delivered') return { state, guid: text(row['guid']) };
  const code = text(row['error_code']) ?? 'INTERNAL_ERROR';
  const message = text(row['error_message']) ?? 'outcome unknown';
  return { state: state === 'failed' ? 'failed' : 'unknown', code, message };
}

function readTime(row: Row): number | undefined {
  return row === undefined ? undefined : Number(row['at']);
}

function readFrame(stored: string | undefined): SendFrame | undefined {
  if (stored === undefined) return undefined;
  const parsed = parseServiceFrame(stored);
  return parsed.kind === 'frame' && parsed.frame.type === 'send' ? parsed.frame : undefined;
}

function readStep(row: Row): Step | undefined {
  if (row === undefined) return undefined;
  return {
    name: String(row['name']),
    done: row['done'] === 1,
    guid: text(row['guid']),
    fileName: text(row['file_name']),
    watermark: Number(row['watermark']),
  };
}

function text(value: SQLOutputValue | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
