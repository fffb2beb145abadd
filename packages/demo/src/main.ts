// `npm run demo`: everything on this machine, real traffic, nothing leaves it.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, styleText } from 'node:util';

import { BREAKS } from './breaks.ts';
import { preparePage, startPage } from './page-server.ts';
import { tellStory } from './story.ts';
import { nextFree, startWorld } from './world.ts';
import type { World } from './world.ts';

const { values } = parseArgs({
  options: {
    headless: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    port: { type: 'string', default: '4640' },
  },
});

const started = performance.now();
let last = started;

function say(event: Record<string, unknown>, line: string): void {
  console.log(values.json ? JSON.stringify(event) : line);
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
  const wanted = { service: 4600, operator: 4610, crm: 4620, page: Number(values.port) };
  const chosen = { ...wanted };
  for (const [name, port] of Object.entries(wanted)) {
    const free = await nextFree(port);
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
  return good;
}

/** One folder for everything that is started, so that nothing can be left behind, whenever somebody presses Ctrl-C. */
const folder = mkdtempSync(join(tmpdir(), 'footbridge-demo-'));
process.env['TMPDIR'] = folder;

let starting: Promise<World> | undefined;
let stopping: Promise<void> | undefined;

function stop(code: number): void {
  stopping ??= leave(code);
}

async function leave(code: number): Promise<void> {
  // What is still starting is waited for: a process nobody knows of yet could not be stopped.
  const world = await starting?.catch(() => undefined);
  await world?.stop();
  // After the listener that ends whatever still runs.
  process.once('exit', () =>
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }),
  );
  process.exit(code);
}

async function run(): Promise<void> {
  process.on('SIGINT', () => stop(0));
  process.on('SIGTERM', () => stop(0));
  say(
    { demo: 'footbridge' },
    `\n${styleText('bold', 'Footbridge')}: everything below is real traffic on this machine, nothing leaves it\n`,
  );
  try {
    const chosen = await ports();
    const opening = values.headless ? undefined : preparePage();
    starting = startWorld(chosen, step);
    const world = await starting;
    await tellStory(world, step);
    if (opening === undefined) {
      const good = await breakEverything(world);
      say(
        { done: true, ok: good, ms: Math.round(performance.now() - started) },
        good ? '\nEvery promise held.' : '\nA promise was broken.',
      );
      return stop(good ? 0 : 1);
    }
    const page = await startPage(world, chosen.page, await opening);
    const took = ((performance.now() - started) / 1000).toFixed(1);
    say(
      { ready: page.url, ms: Math.round(performance.now() - started) },
      `\n  ${styleText('bold', 'Open')}  ${styleText('cyan', page.url)}     ${styleText('dim', `ready in ${took} s`)}\n  ${styleText('bold', 'Stop')}  Ctrl-C\n`,
    );
  } catch (error) {
    // Whoever stops it in the middle need not read that the rest failed.
    if (stopping === undefined)
      console.error(`\nThe demo could not go on: ${error instanceof Error ? error.message : String(error)}`);
    stop(1);
  }
}

await run();
