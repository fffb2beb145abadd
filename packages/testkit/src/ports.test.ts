import { createServer } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { freePort, portOf } from './ports.ts';
import { undoList } from './undo.ts';

const undo = undoList();
afterEach(() => undo.run());

it('gives ports that can be listened on, all different', async () => {
  const ports = await Promise.all([freePort(), freePort(), freePort({ below: 32_768 })]);
  expect(new Set(ports).size).toBe(3);
  for (const port of ports) {
    const server = createServer().listen(port, '127.0.0.1');
    undo.add(() => server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    expect(portOf(server)).toBe(port);
  }
});

it('stays below the bound', async () => {
  for (let i = 0; i < 20; i++) expect(await freePort({ below: 12_000 })).toBeLessThan(12_000);
});

it('says so when nothing listens', () => {
  expect(() => portOf(createServer())).toThrow('listens on no TCP port');
});
