import type { Suspects } from './suspects.ts';

/** No message ever crashed the agent. */
export const NO_SUSPECTS: Pick<
  Suspects,
  'during' | 'verdict' | 'isSetAside' | 'waitMs' | 'acquit' | 'release'
> = {
  during: (_name, run) => run(),
  verdict: () => 'clear',
  isSetAside: () => false,
  waitMs: () => 0,
  acquit: () => {},
  release: () => false,
};
