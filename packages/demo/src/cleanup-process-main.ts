// Cleans up after a demo that was killed. Its standard input lists the started and exited processes (`+pid`, `-pid`). The
// input ends when the demo exits; then the remaining processes are killed.
import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';

// This process must outlive the demo, so it ignores the signals that stop the demo.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);

const [folder = ''] = process.argv.slice(2);
const running = new Set<number>();
for await (const line of createInterface(process.stdin)) {
  const pid = Number(line.slice(1));
  if (line.startsWith('+')) running.add(pid);
  else running.delete(pid);
}
for (const pid of running) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process has already exited.
  }
}
rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
