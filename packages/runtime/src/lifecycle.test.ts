import { expect, it } from 'vitest';

import { Lifecycle } from './lifecycle.ts';

it('stops the newest part first, each once, and continues when one fails', async () => {
  const seen: string[] = [];
  const life = new Lifecycle((name) => seen.push(`${name} failed`));
  life.add('first', () => void seen.push('first'));
  life.add('second', async () => {
    await Promise.resolve();
    throw new Error('cannot close');
  });
  life.add('third', () => void seen.push('third'));
  expect(life.stopping).toBeUndefined();
  const closed = Promise.all([life.close(), life.close()]);
  expect(life.stopping).toBe('third');
  await closed;
  expect(life.stopping).toBeUndefined();
  await life.close();
  expect(seen).toEqual(['third', 'second failed', 'first']);
});

it('stops what was added to a part of it when the turn of that part comes, and continues when one fails', async () => {
  const seen: string[] = [];
  const life = new Lifecycle((name) => seen.push(`${name} failed`));
  const inner = life.part('inner');
  life.add('outer', () => void seen.push('outer'));
  inner.add('first', () => void seen.push('first'));
  inner.add('second', () => {
    throw new Error('cannot close');
  });
  await life.close();
  expect(seen).toEqual(['outer', 'second failed', 'first']);
});
