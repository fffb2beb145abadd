import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { bundleOf } from '@footbridge/testkit/bundles';

const MAIN = bundleOf(fileURLToPath(new URL('../../packages/agent/src/main.ts', import.meta.url)));

/** Runs a command of the agent in a process of its own, as the owner does. */
export function command(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  return new Promise((resolve) => {
    const { PATH, NODE_COMPILE_CACHE } = process.env;
    const env = { PATH, NODE_COMPILE_CACHE, HOME: '/nonexistent' };
    execFile(process.execPath, [MAIN, ...args], { env, timeout: 60_000 }, (error, out, err) => {
      resolve({ code: error === null ? 0 : Number(error.code), out, err });
    });
  });
}
