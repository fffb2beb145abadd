import type { DatabaseSync } from 'node:sqlite';

import { parseMacFrame, writeFrame } from '@footbridge/protocol/frames';

import type { Outbox, OutboxFrame } from './journal.ts';
import { lazyStatements } from './sqlite-statement.ts';

export function sqliteOutbox(db: DatabaseSync): Outbox & { prune(before: number): void } {
  const prepare = lazyStatements(db);
  const reserve = prepare(
    "INSERT INTO outbox (state, frame, changed_at) VALUES ('waiting', '', ?) RETURNING seq",
  );
  const fill = prepare('UPDATE outbox SET frame = ?, guid = ? WHERE seq = ?');
  const waiting = prepare(
    "SELECT seq, frame, guid FROM outbox WHERE state = 'waiting' AND seq > ? ORDER BY seq LIMIT ?",
  );
  const acknowledge = prepare("DELETE FROM outbox WHERE seq = ? AND state = 'waiting'");
  const park = prepare(
    "UPDATE outbox SET state = ?, reason = ?, changed_at = ? WHERE seq = ? AND state = 'waiting'",
  );
  const parked = prepare("SELECT frame FROM outbox WHERE seq = ? AND state <> 'waiting'");
  const drop = prepare('DELETE FROM outbox WHERE seq = ?');
  const counts = prepare('SELECT state, count(*) AS n FROM outbox GROUP BY state');
  const prune = prepare("DELETE FROM outbox WHERE state <> 'waiting' AND changed_at < ?");

  const put: Outbox['put'] = (frame, now) => {
    // The frame holds its own `seq`, so the row is inserted before its frame is known. The caller opens the transaction.
    const seq = Number(reserve.get(now)?.['seq']);
    fill.run(writeFrame({ ...frame, seq }), guidOf(frame), seq);
    return seq;
  };

  const parkedFrame = (seq: number) => {
    const stored = parked.get(seq)?.['frame'];
    const parsed = typeof stored === 'string' ? parseMacFrame(stored) : undefined;
    return parsed?.kind === 'frame' ? parsed.frame : undefined;
  };

  return {
    put,
    unacknowledged: (after, limit) =>
      waiting.all(after, limit).map(({ seq, frame, guid }) => ({
        seq: Number(seq),
        text: String(frame),
        guid: typeof guid === 'string' ? guid : undefined,
      })),
    acknowledge: (seq) => acknowledge.run(seq).changes === 1,
    reject: (seq, reason, now) => park.run('rejected', reason, now, seq).changes === 1,
    setAside: (seq, reason, now) => park.run('set-aside', reason, now, seq).changes === 1,
    redeliver: (seq, now) => {
      const frame = parkedFrame(seq);
      if (frame === undefined || !('seq' in frame)) return undefined;
      drop.run(seq);
      return put(frame, now);
    },
    takeSetAside: (seq, take) => {
      const frame = parkedFrame(seq);
      if (frame?.type !== 'message_received' || frame.setAside !== true) return false;
      drop.run(seq);
      take(frame.guid);
      return true;
    },
    counts: () => {
      const byState = new Map(counts.all().map((row) => [String(row['state']), Number(row['n'])]));
      return {
        unacknowledged: byState.get('waiting') ?? 0,
        rejected: byState.get('rejected') ?? 0,
        setAside: byState.get('set-aside') ?? 0,
      };
    },
    prune: (before) => void prune.run(before),
  };
}

/** A set-aside frame has none of the content of its message, so it may be sent. */
function guidOf(frame: OutboxFrame): string | null {
  return frame.type === 'message_received' && frame.setAside !== true ? frame.guid : null;
}
