import type { DatabaseSync } from 'node:sqlite';

import { parseMacFrame, writeFrame } from '@footbridge/protocol/frames';

import type { Outbox } from './journal.ts';
import { lazyStatements } from './sqlite-statement.ts';

export function sqliteOutbox(db: DatabaseSync): Outbox & { prune(before: number): void } {
  const prepare = lazyStatements(db);
  const reserve = prepare(
    "INSERT INTO outbox (state, frame, changed_at) VALUES ('waiting', '', ?) RETURNING seq",
  );
  const fill = prepare('UPDATE outbox SET frame = ? WHERE seq = ?');
  const waiting = prepare(
    "SELECT seq, frame FROM outbox WHERE state = 'waiting' AND seq > ? ORDER BY seq LIMIT ?",
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
    fill.run(writeFrame({ ...frame, seq }), seq);
    return seq;
  };

  return {
    put,
    unacknowledged: (after, limit) =>
      waiting.all(after, limit).map((row) => ({ seq: Number(row['seq']), text: String(row['frame']) })),
    acknowledge: (seq) => acknowledge.run(seq).changes === 1,
    reject: (seq, reason, now) => park.run('rejected', reason, now, seq).changes === 1,
    setAside: (seq, reason, now) => park.run('set-aside', reason, now, seq).changes === 1,
    redeliver: (seq, now) => {
      const stored = parked.get(seq)?.['frame'];
      const parsed = typeof stored === 'string' ? parseMacFrame(stored) : undefined;
      if (parsed?.kind !== 'frame' || !('seq' in parsed.frame)) return undefined;
      drop.run(seq);
      return put(parsed.frame, now);
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
