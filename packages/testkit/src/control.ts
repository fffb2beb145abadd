import { createServer } from 'node:http';
import type { Server } from 'node:http';
import { text } from 'node:stream/consumers';

/** What another process may ask for, by name; each takes one JSON object and gives JSON. */
export type Operations = { readonly [name: string]: (argument: never) => unknown };

type Asynchronous<F> = F extends (...args: infer A) => infer R ? (...args: A) => Promise<Awaited<R>> : never;

/** The same operations from afar. */
export type Remote<O> = { readonly [Name in keyof O]: Asynchronous<O[Name]> };

/** Serves `POST /_control/<name>` with the argument as body. For loopback: it trusts its callers. */
export function createControl(operations: Operations): Server {
  return createServer((request, response) => {
    const name = (request.url ?? '').replace(/^\/_control\//, '');
    const answer = (status: number, body: unknown) => {
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body ?? null));
    };
    const run = async () => {
      const operation = Object.hasOwn(operations, name) ? operations[name] : undefined;
      if (!operation) return answer(404, { error: `Unknown: ${name}`, known: Object.keys(operations) });
      // A wrong argument shows itself in the answer, or in the test.
      const argument = JSON.parse((await text(request)) || '{}') as never;
      return answer(200, await operation(argument));
    };
    run().catch((error: unknown) => answer(400, { error: String(error) }));
  });
}

export function remote<O>(controlUrl: string): Remote<O> {
  return new Proxy({} as Remote<O>, {
    // A thing with a `then` would be taken for a promise.
    get: (_, name) => (typeof name === 'string' && name !== 'then' ? caller(controlUrl, name) : undefined),
  });
}

function caller(controlUrl: string, name: string) {
  return async (argument: unknown = {}): Promise<unknown> => {
    const response = await fetch(new URL(`/_control/${name}`, controlUrl), {
      method: 'POST',
      body: JSON.stringify(argument),
    });
    const answer: unknown = await response.json();
    if (!response.ok) throw new Error(`${name} was refused: ${JSON.stringify(answer)}`);
    return answer;
  };
}
