// `npm run demo`: runs everything locally, with real traffic between the programs.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { styleText } from 'node:util';

import { createCleanup } from '@footbridge/testkit/cleanup';

import { startCleanupProcess } from './cleanup-process.ts';
import { readOptions } from './options.ts';
import type { Options } from './options.ts';
import { nextFree, startDemo } from './demo.ts';
import type { Demo } from './demo.ts';

const values = parseOptions();
const started = performance.now();
let last = started;

function parseOptions(): Options {
  const read = readOptions(process.argv.slice(2));
  if ('options' in read) return read.options;
  if ('help' in read) console.log(read.help);
  else console.error(read.problem);
  return process.exit('help' in read ? 0 : 2);
}

function print(event: Record<string, unknown>, line: string): void {
  // After Ctrl-C the rest of the output is irrelevant.
  if (stopping === undefined) console.log(values.json ? JSON.stringify(event) : line);
}

function step(name: string, detail: string): void {
  const now = performance.now();
  const ms = Math.round(now - last);
  last = now;
  print(
    { step: name, detail, ms, ok: true },
    `  ${styleText('green', '✔')} ${name.padEnd(16)} ${detail.padEnd(62)} ${styleText('dim', `${(ms / 1000).toFixed(2)} s`)}`,
  );
}

async function ports(): Promise<{ service: number; operator: number; crm: number; page: number }> {
  if (values.headless) return { service: 0, operator: 0, crm: 0, page: 0 };
  const wanted = { service: 4600, operator: 4610, crm: 4620, page: values.port };
  const chosen = { ...wanted };
  for (const [name, port] of Object.entries(wanted)) {
    const free = port === 0 ? 0 : await nextFree(port);
    if (free !== port)
      print(
        { moved: name, from: port, to: free },
        `  ${styleText('yellow', '!')} port ${port} is in use; the ${name} listens on ${free}`,
      );
    chosen[name as keyof typeof chosen] = free;
  }
  return chosen;
}

async function runScenarios(demo: Demo): Promise<boolean> {
  const [{ ScenarioRunner }, { SCENARIOS }] = await Promise.all([
    import('./scenario-runner.ts'),
    import('./scenarios.ts'),
  ]);
  let ok = true;
  const runner = new ScenarioRunner(demo, () => undefined);
  await runner.run(SCENARIOS, ({ id, title, promise }, { held, result, ms }) => {
    ok &&= held;
    print(
      { break: id, title, promise, held, result, ms },
      `  ${held ? styleText('green', '✔') : styleText('red', '✖')} ${title.padEnd(24)} ${result}`,
    );
  });
  print(
    { done: true, ok, ms: Math.round(performance.now() - started) },
    ok ? '\nEvery guarantee held.' : '\nA guarantee did not hold.',
  );
  return ok;
}

/** All processes use one temporary folder, which is removed whenever the demo stops. */
const folder = mkdtempSync(join(tmpdir(), 'footbridge-demo-'));
process.env['TMPDIR'] = folder;
startCleanupProcess(folder);

const cleanup = createCleanup();
let stopping: Promise<void> | undefined;

function stop(code: number): void {
  stopping ??= shutDown(code);
}

async function shutDown(code: number): Promise<void> {
  await cleanup.run().catch(() => undefined);
  // Registered last, so that it runs after the listener that kills the remaining processes.
  process.once('exit', () =>
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }),
  );
  process.exit(code);
}

/** Stops the demo if its parent process exits, because then there is no terminal for Ctrl-C. */
function stopWithoutParent(): void {
  const parent = process.ppid;
  setInterval(() => process.ppid !== parent && stop(0), 500).unref();
}

async function run(): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop(0));
  stopWithoutParent();
  print(
    { demo: 'footbridge' },
    `\n${styleText('bold', 'Footbridge')} demo: real traffic between real programs, all on this machine\n`,
  );
  try {
    const chosen = await ports();
    // Later modules are loaded while the programs start.
    const [demo, { runFirstConversation }, { startPage }, { preparePage }] = await Promise.all([
      startDemo(chosen, step, cleanup),
      import('./first-conversation.ts'),
      import('./page-server.ts'),
      import('./prepare-page.ts'),
    ]);
    await runFirstConversation(demo, step);
    if (values.headless) return stop((await runScenarios(demo)) ? 0 : 1);
    // Not awaited: after a change, only the first request waits for the build.
    const page = preparePage();
    page.catch(fail);
    const url = await startPage(demo, chosen.page, page, cleanup);
    // Measured from the start of the process.
    const ms = Math.round(performance.now());
    print(
      { ready: url, console: `${url}/console`, ms },
      `\n  ${styleText('bold', 'Open')}     ${styleText('cyan', url)}     ${styleText('dim', `ready in ${(ms / 1000).toFixed(1)} s`)}\n  ${styleText('bold', 'Console')}  ${styleText('cyan', `${url}/console`)}\n  ${styleText('bold', 'Stop')}     Ctrl-C\n`,
    );
  } catch (error) {
    fail(error);
  }
}

function fail(error: unknown): void {
  if (stopping === undefined)
    console.error(`\nThe demo failed: ${error instanceof Error ? error.message : String(error)}`);
  stop(1);
}

await run();
