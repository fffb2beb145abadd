import { EngineError } from '../errors.ts';

/** Returns a function that runs queries. Whatever they reject with becomes an EngineError with this message. */
export const guarded =
  (message: string) =>
  async <T>(query: () => Promise<T>): Promise<T> => {
    try {
      return await query();
    } catch (error) {
      throw new EngineError('sql', message, error);
    }
  };
