// Preloaded into a measured service: SIGUSR2 collects all garbage and logs the memory in use.
import { collectGarbage } from '@footbridge/testkit/collect-garbage';

process.on('SIGUSR2', () => {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  process.stdout.write(`${JSON.stringify({ msg: 'memory in use', bytes: heapUsed + external })}\n`);
});
