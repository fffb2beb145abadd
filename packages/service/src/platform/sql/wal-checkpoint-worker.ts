import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { parentPort, workerData } from 'node:worker_threads';

// mode=rw: a database file that was moved away must not be created again.
const file = pathToFileURL(String(workerData));
file.searchParams.set('mode', 'rw');
const database = new DatabaseSync(file);
database.exec('PRAGMA synchronous = NORMAL');
const checkpoint = database.prepare('PRAGMA wal_checkpoint(PASSIVE)');

parentPort?.on('message', () => {
  checkpoint.all();
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread's port, not a window
  parentPort?.postMessage('done');
});
