import { createServer } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { createCleanup } from './cleanup.ts';
import { CHOSEN_PORTS, listen } from './loopback.ts';
import { freePort } from './ports.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

async function listening(port?: number) {
  const server = createServer();
  cleanup.add(() => server.close());
  const used = await listen(server, port);
  expect(server.address()).toMatchObject({ address: '127.0.0.1', port: used });
  return { server, port: used };
}

it('listen selects a port that the kernel does not assign to connections or other servers', async () => {
  for (let i = 0; i < 20; i++) {
    const { port } = await listening();
    expect(port).toBeGreaterThanOrEqual(CHOSEN_PORTS.from);
    expect(port).toBeLessThan(CHOSEN_PORTS.below);
  }
});

it('listen rejects when the given port is in use, and the server can listen on another one', async () => {
  const { port } = await listening();
  const server = createServer();
  cleanup.add(() => server.close());
  await expect(listen(server, port)).rejects.toThrow('EADDRINUSE');
  expect(await listen(server)).not.toBe(port);
});

/** The next random numbers select this port. */
function selectNext(port: number, times: number) {
  const { random } = Math;
  cleanup.add(() => (Math.random = random));
  const { from, below } = CHOSEN_PORTS;
  const draws = Array.from({ length: times }, () => (port + 0.5 - from) / (below - from));
  Math.random = () => draws.shift() ?? random();
  return draws;
}

it('listen tries another port when the selected one is in use', async () => {
  const { port } = await listening();
  const draws = selectNext(port, 1);
  expect((await listening()).port).not.toBe(port);
  expect(draws).toEqual([]);
});

it('listen does not select the port of a closed server, to which a client may still have a connection', async () => {
  const { server, port } = await listening();
  server.close();
  const draws = selectNext(port, 1);
  expect((await listening()).port).not.toBe(port);
  expect(draws).toEqual([]);
});

it('freePort returns different ports that are free', async () => {
  const ports = await Promise.all([freePort(), freePort(), freePort()]);
  expect(new Set(ports).size).toBe(3);
  for (const port of ports) expect((await listening(port)).port).toBe(port);
});

it('freePort returns a port that no other test gets before its program listens', async () => {
  const port = await freePort();
  const draws = selectNext(port, 2);
  expect((await listening()).port).not.toBe(port);
  expect(await freePort()).not.toBe(port);
  expect(draws).toEqual([]);
  expect((await listening(port)).port).toBe(port);
});
