import type { Limits, Verdict } from './limits.ts';

/** Calls `count` with the name of the limit for each rejected request. */
export function countRejections(limits: Limits, count: (name: string) => void): Limits {
  return {
    take(limit, key) {
      const verdict = limits.take(limit, key);
      const look = ({ allowed }: Verdict) => void (allowed || count(limit.name));
      if (verdict instanceof Promise) void verdict.then(look);
      else look(verdict);
      return verdict;
    },
    peek: (limit, key) => limits.peek(limit, key),
    close: () => limits.close(),
  };
}
