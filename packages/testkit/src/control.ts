import { createServer } from 'node:http';
import type { Server } from 'node:http';
import { text } from 'node:stream/consumers';

/** Operations by name. Each takes one JSON object and returns JSON. */
export type Operations = { readonly [name: string]: (argument: never) => unknown };

type Asynchronous<F> = F extends (...args: infer A) => infer R ? (...args: A) => Promise<Awaited<R>> : never;

/** The same operations, called from another process. */
export type Remote<O> = { readonly [Name in keyof O]: Asynchronous<O[Name]> };

/** Serves `POST /_control/<name>` with the argument as body. Listen on loopback only: there is no authentication. */
export function createControl(operations: Operations): Server {
  return createServer((request, response) => {
    const name = (request.url ?? '').replace(/^\/_control\//, '');
    const respond = (status: number, body: unknown) => {
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body ?? null));
    };
    const run = async () => {
      const operation = Object.hasOwn(operations, name) ? operations[name] : undefined;
      if (!operation)
        return respond(404, { error: `Unknown operation: ${name}`, known: Object.keys(operations) });
      // Not validated: a wrong argument fails in the operation.
      const argument = JSON.parse((await text(request)) || '{}') as never;
      return respond(200, await operation(argument));
    };
    run().catch((error: unknown) => respond(400, { error: String(error) }));
  });
}

export function remote<O>(controlUrl: string): Remote<O> {
  return new Proxy({} as Remote<O>, {
    // An object with a `then` method would be treated as a promise.
    get: (_, name) => (typeof name === 'string' && name !== 'then' ? caller(controlUrl, name) : undefined),
  });
}

function caller(controlUrl: string, name: string) {
  return async (argument: unknown = {}): Promise<unknown> => {
    const response = await fetch(new URL(`/_control/${name}`, controlUrl), {
      method: 'POST',
      body: JSON.stringify(argument),
    });
    const result: unknown = await response.json();
    if (!response.ok) throw new Error(`${name} failed: ${JSON.stringify(result)}`);
    return result;
  };
}
