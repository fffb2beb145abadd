import { createServer } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { freePort, portOf } from './ports.ts';
import { createCleanup } from './cleanup.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

it('freePort returns different ports that are free', async () => {
  const ports = await Promise.all([freePort(), freePort(), freePort({ below: 32_768 })]);
  expect(new Set(ports).size).toBe(3);
  for (const port of ports) {
    const server = createServer().listen(port, '127.0.0.1');
    cleanup.add(() => server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    expect(portOf(server)).toBe(port);
  }
});

it('freePort returns ports below the bound', async () => {
  for (let i = 0; i < 20; i++) expect(await freePort({ below: 12_000 })).toBeLessThan(12_000);
});

it('portOf throws for a server that does not listen', () => {
  expect(() => portOf(createServer())).toThrow('does not listen on a TCP port');
});
