import type { Operations } from './crm/control.ts';

type Remote<F> = F extends (...args: infer A) => infer R ? (...args: A) => Promise<Awaited<R>> : never;

/** A CRM in another process: one asynchronous function per operation of its control surface. */
export type RemoteCrm = { readonly [Name in keyof Operations]: Remote<Operations[Name]> };

export function remoteCrm(controlUrl: string): RemoteCrm {
  return new Proxy({} as RemoteCrm, {
    get: (_, name) => (typeof name === 'string' && name !== 'then' ? call(controlUrl, name) : undefined),
  });
}

function call(controlUrl: string, name: string) {
  return async (argument: unknown = {}): Promise<unknown> => {
    const response = await fetch(new URL(`/_control/${name}`, controlUrl), {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(argument),
    });
    const answer: unknown = await response.json();
    if (!response.ok) throw new Error(`The CRM refused ${name}: ${JSON.stringify(answer)}`);
    return answer;
  };
}
