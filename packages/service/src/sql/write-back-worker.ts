import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';

const database = new DatabaseSync(String(workerData));
database.exec('PRAGMA synchronous = NORMAL');
const pass = database.prepare('PRAGMA wal_checkpoint(PASSIVE)');

parentPort?.on('message', () => {
  pass.all();
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread's port, not a window
  parentPort?.postMessage('done');
});
