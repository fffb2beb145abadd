import { expect, it } from 'vitest';

import { SerialByKey } from './serial-by-key.ts';

const tick = () => new Promise((resolve) => setImmediate(resolve));

it('tasks of one key run in order and receive the result before them; other keys do not wait', async () => {
  const tasks = new SerialByKey<string, string>();
  const first = Promise.withResolvers<string>();
  const log: string[] = [];
  const run = (key: string, item: string, result: Promise<string>) =>
    tasks.add(key, item, (before) => {
      log.push(`${item} after ${before}`);
      return result;
    });
  const done = [
    run('a', 'a1', first.promise),
    run('a', 'a2', Promise.resolve('two')),
    run('b', 'b1', Promise.resolve('other')),
  ];
  await tick();
  expect(log).toEqual(['a1 after undefined', 'b1 after undefined']);
  expect([tasks.newest('a'), tasks.newest('b')]).toEqual(['a2', undefined]);
  expect(tasks.unfinished.map(({ item }) => item).toSorted()).toEqual(['a1', 'a2']);
  first.resolve('one');
  expect(await Promise.all(done)).toEqual(['one', 'two', 'other']);
  expect(log.at(-1)).toBe('a2 after one');
  expect([tasks.newest('a'), tasks.unfinished]).toEqual([undefined, []]);
});

it('a task that fails is finished', async () => {
  const tasks = new SerialByKey<string, string>();
  await expect(tasks.add('a', 'a1', () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  expect(tasks.unfinished).toEqual([]);
  expect(await tasks.add('a', 'a2', (before) => Promise.resolve(String(before)))).toBe('undefined');
});

it('is idle when every task added so far has finished, also one that failed', async () => {
  const tasks = new SerialByKey<string, void, number>();
  const end = Promise.withResolvers<void>();
  const ran: string[] = [];
  void tasks.add(1, 'first', () => end.promise.then(() => void ran.push('first')));
  const failed = expect(tasks.add(2, 'second', () => Promise.reject(new Error('broken')))).rejects.toThrow();
  const idle = tasks.idle().then(() => ran.push('idle'));
  await tick();
  end.resolve();
  await Promise.all([idle, failed]);
  expect(ran).toEqual(['first', 'idle']);
});
