// Clears away after a demo that was killed. It hears of every process on its standard input (`+pid`, `-pid`); when that
// ends, so did the demo, and what still runs ends too.
import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';

// It must outlive the demo, so it does not listen to what ends the demo.
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
    // It ended by itself.
  }
}
rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
