import { describe, expect, it } from 'vitest';

import { SerialByKey } from './serial-by-key.ts';

const unexpected = (error: unknown): void => {
  throw error;
};

describe('SerialByKey', () => {
  it('runs tasks of one key in order and tasks of other keys meanwhile', async () => {
    const serial = new SerialByKey<string>();
    const gate = Promise.withResolvers<void>();
    const ran: string[] = [];
    const first = async (): Promise<void> => {
      await gate.promise;
      ran.push('a1');
    };
    serial.run('a', first, unexpected);
    serial.run('a', async () => void ran.push('a2'), unexpected);
    serial.run('b', async () => void ran.push('b1'), unexpected);
    await new Promise((resolve) => setImmediate(resolve));
    expect(ran).toEqual(['b1']);
    gate.resolve();
    await serial.idle();
    expect(ran).toEqual(['b1', 'a1', 'a2']);
  });

  it('reports a task that rejects and runs the next one', async () => {
    const serial = new SerialByKey<string>();
    const failure = new Error('no');
    const errors: unknown[] = [];
    let ran = false;
    serial.run(
      'a',
      () => Promise.reject(failure),
      (error) => void errors.push(error),
    );
    serial.run(
      'a',
      async () => {
        ran = true;
      },
      unexpected,
    );
    await serial.idle();
    expect(errors).toEqual([failure]);
    expect(ran).toBe(true);
  });
});
