import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { Child } from './child.ts';
import { createCleanup } from './cleanup.ts';
import { until } from './until.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

function node(script: string): Child {
  const child = new Child(process.execPath, ['-e', script]);
  cleanup.add(() => child.end('SIGKILL'));
  return child;
}

describe('a child process', () => {
  it('provides the lines of both streams, past and future', async () => {
    const child = node(
      'console.log("one"); console.error("two"); setTimeout(() => console.log("ready 7"), 50)',
    );
    const readiness = (line: string) => /ready (\d)/.exec(line)?.[1];
    expect(await child.line(readiness, 60_000, 'readiness')).toBe('7');
    expect(await child.line(readiness, 1, 'readiness')).toBe('7');
    expect([...child.lines].sort()).toEqual(['one', 'ready 7', 'two']);
    expect(await child.exited).toEqual({ code: 0, signal: null });
  });

  it('rejects with its last lines if it exits early or stays silent', async () => {
    const early = node('console.error("no database"); process.exit(3)');
    await expect(early.line(() => undefined, 60_000, 'readiness')).rejects.toThrow(
      /Exited \(3\) before readiness\.\nno database/,
    );
    const silent = node('setInterval(() => {}, 1000)');
    await expect(silent.line(() => undefined, 30, 'readiness')).rejects.toThrow(
      'Not within 30 ms: readiness',
    );
  });

  it('rejects if the program does not exist', async () => {
    const missing = new Child('/no/such/program', []);
    await expect(missing.line(() => undefined, 60_000, 'readiness')).rejects.toThrow('ENOENT');
  });

  it('ends on SIGTERM, or on SIGKILL if it ignores SIGTERM', async () => {
    const responsive = node('setInterval(() => {}, 1000)');
    expect(await responsive.end()).toEqual({ code: null, signal: 'SIGTERM' });
    const ignoring = node('process.on("SIGTERM", () => {}); setInterval(() => {}, 1000); console.log("up")');
    await ignoring.line((line) => line === 'up' || undefined, 60_000, 'up');
    expect(await ignoring.end('SIGTERM', 50)).toEqual({ code: null, signal: 'SIGKILL' });
    expect(await ignoring.end()).toEqual({ code: null, signal: 'SIGKILL' });
  });

  it('is killed when the process that started it exits', async () => {
    const grandchild = `
      const server = require('node:net').createServer().listen(0, '127.0.0.1', () => console.log('port ' + server.address().port));
    `;
    const script = `
      const { Child } = await import(${JSON.stringify(new URL('child.ts', import.meta.url).href)});
      const child = new Child(process.execPath, ['-e', ${JSON.stringify(grandchild)}]);
      console.log(await child.line((line) => line, 60_000, 'its port'));
      process.exit(0);
    `;
    const parent = new Child(process.execPath, ['--input-type=module', '-e', script]);
    const port = await parent.line((line) => /port (\d+)/.exec(line)?.[1], 60_000, 'the port');
    await parent.exited;
    await until(async () => !(await listens(Number(port))));
  });
});

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
