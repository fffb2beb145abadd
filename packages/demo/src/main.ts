// `npm run demo`: everything on this machine, real traffic, nothing leaves it.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { styleText } from 'node:util';

import { undoList } from '@footbridge/testkit/undo';

import { startKeeper } from './keeper.ts';
import { readOptions } from './options.ts';
import type { Options } from './options.ts';
import { nextFree, startWorld } from './world.ts';
import type { World } from './world.ts';

const values = chosenOptions();
const started = performance.now();
let last = started;

function chosenOptions(): Options {
  const read = readOptions(process.argv.slice(2));
  if ('options' in read) return read.options;
  if ('help' in read) console.log(read.help);
  else console.error(read.problem);
  return process.exit('help' in read ? 0 : 2);
}

function say(event: Record<string, unknown>, line: string): void {
  // Whoever stops it in the middle need not read what became of the rest.
  if (stopping === undefined) console.log(values.json ? JSON.stringify(event) : line);
}

function step(name: string, detail: string): void {
  const now = performance.now();
  const ms = Math.round(now - last);
  last = now;
  say(
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
      say(
        { moved: name, from: port, to: free },
        `  ${styleText('yellow', '!')} port ${port} is taken, the ${name} uses ${free}`,
      );
    chosen[name as keyof typeof chosen] = free;
  }
  return chosen;
}

async function breakEverything(world: World): Promise<boolean> {
  const { BREAKS } = await import('./breaks.ts');
  let good = true;
  for (const one of BREAKS) {
    const { id, title, promise } = one;
    const began = performance.now();
    const outcome = await one.run(world).catch((error: unknown) => ({
      held: false,
      result: error instanceof Error ? error.message : String(error),
    }));
    await world.crm.calm();
    good &&= outcome.held;
    const ms = Math.round(performance.now() - began);
    say(
      { break: id, title, promise, ...outcome, ms },
      `  ${outcome.held ? styleText('green', '✔') : styleText('red', '✖')} ${title.padEnd(24)} ${outcome.result}`,
    );
  }
  say(
    { done: true, ok: good, ms: Math.round(performance.now() - started) },
    good ? '\nEvery promise held.' : '\nA promise was broken.',
  );
  return good;
}

/** One folder for everything that is started, so that nothing can be left behind, whenever somebody presses Ctrl-C. */
const folder = mkdtempSync(join(tmpdir(), 'footbridge-demo-'));
process.env['TMPDIR'] = folder;
startKeeper(folder);

const undo = undoList();
let stopping: Promise<void> | undefined;

function stop(code: number): void {
  stopping ??= leave(code);
}

async function leave(code: number): Promise<void> {
  await undo.run().catch(() => undefined);
  // After the listener that ends whatever still runs.
  process.once('exit', () =>
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }),
  );
  process.exit(code);
}

/** Whoever started the demo is gone, and with it the terminal in which somebody could press Ctrl-C. */
function stopWithoutParent(): void {
  const parent = process.ppid;
  setInterval(() => process.ppid !== parent && stop(0), 500).unref();
}

async function run(): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop(0));
  stopWithoutParent();
  say(
    { demo: 'footbridge' },
    `\n${styleText('bold', 'Footbridge')}: everything below is real traffic on this machine, nothing leaves it\n`,
  );
  try {
    const chosen = await ports();
    // What comes later is loaded while the programs start.
    const [world, { tellStory }, { startPage }, { preparePage }] = await Promise.all([
      startWorld(chosen, step, undo),
      import('./story.ts'),
      import('./page-server.ts'),
      import('./build-page.ts'),
    ]);
    await tellStory(world, step);
    if (values.headless) return stop((await breakEverything(world)) ? 0 : 1);
    // Built only after a change: then the first visitor waits for it a moment, and nobody else.
    const page = preparePage();
    page.catch(giveUp);
    const url = await startPage(world, chosen.page, page, undo);
    // Since the process began, as whoever waits counts.
    const ms = Math.round(performance.now());
    say(
      { ready: url, ms },
      `\n  ${styleText('bold', 'Open')}  ${styleText('cyan', url)}     ${styleText('dim', `ready in ${(ms / 1000).toFixed(1)} s`)}\n  ${styleText('bold', 'Stop')}  Ctrl-C\n`,
    );
  } catch (error) {
    giveUp(error);
  }
}

function giveUp(error: unknown): void {
  if (stopping === undefined)
    console.error(`\nThe demo could not go on: ${error instanceof Error ? error.message : String(error)}`);
  stop(1);
}

await run();
