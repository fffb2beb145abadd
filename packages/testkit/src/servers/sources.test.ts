import { expect, it } from 'vitest';

import { firstThatWorks } from './sources.ts';
import type { Source } from './sources.ts';

interface Lamp {
  readonly path: string;
  readonly fault?: string;
}

const has = (name: string, lamp?: Lamp): Source<Lamp> => ({ name, find: () => Promise.resolve(lamp) });
const fails = (name: string, message: string): Source<Lamp> => ({
  name,
  find: () => Promise.reject(new Error(message)),
});

async function search(...sources: Source<Lamp>[]): Promise<{ path: string; lines: string[] }> {
  const lines: string[] = [];
  const check = ({ fault }: Lamp) =>
    fault === undefined ? Promise.resolve('1.2') : Promise.reject(new Error(fault));
  const { path } = await firstThatWorks('lamp', sources, check, (line) => lines.push(line));
  return { path, lines };
}

it('the first program that works is used and reported with its source, version and path', async () => {
  const { path, lines } = await search(
    has('LAMP_PATH'),
    has('the PATH', { path: '/bin/lamp' }),
    fails('Debian packages', 'never asked'),
  );
  expect(path).toBe('/bin/lamp');
  expect(lines).toEqual(['using lamp 1.2 from the PATH, /bin/lamp']);
});

it('a program that fails its check is named beside the one that is used instead', async () => {
  const { path, lines } = await search(
    has('LAMP_PATH', { path: '/tmp/lamp', fault: 'ended with 1.\nand many more lines' }),
    fails('the npm package', 'not for this machine'),
    has('Debian packages', { path: '/cache/lamp' }),
  );
  expect(path).toBe('/cache/lamp');
  expect(lines).toEqual([
    'using lamp 1.2 from Debian packages, /cache/lamp; not LAMP_PATH, /tmp/lamp: ended with 1; not the npm package: not for this machine',
  ]);
});

it('one line says what is wrong with every source when none works', async () => {
  const searched = search(
    has('LAMP_PATH'),
    has('the PATH', { path: '/bin/lamp', fault: 'broken' }),
    fails('Debian packages', 'no apt-get on this machine'),
  );
  await expect(searched).rejects.toThrow(
    /^the PATH, \/bin\/lamp: broken; Debian packages: no apt-get on this machine; LAMP_PATH has none$/,
  );
});
