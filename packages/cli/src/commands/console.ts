import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createSignInCode } from '@footbridge/protocol/operator/session';
import type { Command } from 'commander';

import { contextOf } from '../command-context.ts';
import { withCleanup } from '../io.ts';
import type { Io } from '../io.ts';
import type { OperatorClient } from '../operator-client.ts';

/** `footbridge console`: prints a link that signs a browser in to the console. */
export function consoleCommand(program: Command): void {
  program
    .command('console')
    .addHelpText('after', '\nExamples:\n  footbridge console\n  footbridge console --json')
    .action(async (_options: object, command: Command) => {
      const { output, operator } = contextOf(command);
      const link = await signInLink(operator());
      output.result(link.url, link);
    });
}

/** `footbridge open`: opens the console in the browser of this machine, or prints the link if there is none. */
export function openCommand(program: Command): void {
  program
    .command('open')
    .addHelpText('after', '\nExamples:\n  footbridge open\n  footbridge open --profile office')
    .action(async (_options: object, command: Command) => {
      const { io, output, operator } = contextOf(command);
      const link = await signInLink(operator());
      const isOpen = io.stdout.isTTY === true && (await openInBrowser(io, link.url));
      output.result(isOpen ? 'The console opens in your browser.' : link.url, link);
      if (!isOpen) output.hint('Open this link in a browser; it works once, within a minute.');
    });
}

interface SignInLink {
  readonly url: string;
  readonly expiresAt: string;
  readonly [field: string]: string;
}

async function signInLink(client: OperatorClient): Promise<SignInLink> {
  const { code, expiresAt } = await client.ask(createSignInCode);
  return { url: `${client.url}/console#code=${code}`, expiresAt };
}

/** How long a browser may take to read the page. The code in it expires after a minute in any case. */
const READING_MS = 5000;

/**
 * Opens a private page that redirects to the link, because the arguments of a process are visible to all users of the machine. Resolves
 * with whether there is a program that opens links.
 */
async function openInBrowser(io: Io, url: string): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), 'footbridge-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  return await withCleanup(io, remove, async () => {
    const page = join(folder, 'console.html');
    await writeFile(page, `<!doctype html><meta http-equiv="refresh" content="0; url=${url}">`, {
      mode: 0o600,
    });
    const isStarted = await start(process.platform === 'darwin' ? 'open' : 'xdg-open', page);
    if (isStarted) await new Promise((resolve) => setTimeout(resolve, READING_MS));
    return isStarted;
  });
}

function start(program: string, argument: string): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(program, [argument], { stdio: 'ignore', detached: true });
    child.once('error', () => resolve(false));
    child.once('spawn', () => {
      child.unref();
      resolve(true);
    });
  });
}
