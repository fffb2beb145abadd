import { once } from 'node:events';
import { createServer, get } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';

import { closeHttp, listen } from '../loopback.ts';

/** A server or browser that tests need. */
export interface Finder<T> {
  readonly name: string;
  /** Resolves to a working one, as JSON data. Throws an error of one line when there is none. */
  readonly find: () => Promise<T>;
}

type Finding<T> =
  | { readonly found: T }
  /** `isFirst` is true for one caller only, which reports for all of them. */
  | { readonly missing: string; readonly isFirst: boolean };

/** Address of the process that searches for all test files of a run. */
const ADDRESS = 'FOOTBRIDGE_FINDINGS';

/** Searches once for each finder, however many callers there are. */
class Findings {
  readonly #searches = new Map<string, Promise<{ found: unknown } | { missing: string }>>();

  async ask<T>(finder: Finder<T>): Promise<Finding<T>> {
    const known = this.#searches.get(finder.name);
    const search = known ?? this.#search(finder);
    const result = await search;
    if ('missing' in result) return { ...result, isFirst: known === undefined };
    return { found: result.found as T };
  }

  #search({ name, find }: Finder<unknown>): Promise<{ found: unknown } | { missing: string }> {
    const search = find().then(
      (found) => ({ found }),
      (error: unknown) => ({ missing: error instanceof Error ? error.message : String(error) }),
    );
    this.#searches.set(name, search);
    return search;
  }
}

const own = new Findings();

/** Gets the result from the process that searches for the whole run. Without one, this process searches itself. */
export async function ask<T>(finder: Finder<T>): Promise<Finding<T>> {
  const address = process.env[ADDRESS];
  const answer = address === undefined ? null : await getJson(`${address}/${finder.name}`);
  return answer === null ? own.ask(finder) : (answer as Finding<T>);
}

async function getJson(url: string): Promise<unknown> {
  // A kept connection may be closed by the server while the next request is on its way.
  const [response] = (await once(get(url, { agent: false }), 'response')) as [IncomingMessage];
  return json(response);
}

/** Resolves to the server that was found. Throws when there is none. */
export async function findOnce<T>(finder: Finder<T>): Promise<T> {
  const finding = await ask(finder);
  if ('missing' in finding) throw new Error(`No ${finder.name}: ${finding.missing}`);
  return finding.found;
}

/**
 * Searches for every process started after this one, until the returned function is called. A search starts when a
 * test file first needs it, so that a run of tests without servers costs nothing.
 */
export async function shareFindings(finders: readonly Finder<unknown>[]): Promise<() => Promise<void>> {
  if (process.env[ADDRESS] !== undefined) return () => Promise.resolve();
  const findings = new Findings();
  const server = createServer((request, response) => {
    const finder = finders.find(({ name }) => request.url === `/${name}`);
    const finding = finder === undefined ? Promise.resolve(null) : findings.ask(finder);
    void finding.then((answer) => response.end(JSON.stringify(answer)));
  });
  process.env[ADDRESS] = `http://127.0.0.1:${await listen(server)}`;
  return async () => {
    delete process.env[ADDRESS];
    await closeHttp(server);
  };
}
