import type { FaultProxy } from '../fault-proxy.ts';
import type { Toxic, ToxicHandle } from './toxics.ts';

/** The operations of the control port. The types of the remote client derive from this table. */
export function operationsOf(links: ReadonlyMap<string, FaultProxy>) {
  const toxics = new Map<string, ToxicHandle>();
  const proxyOf = (link: string) => {
    const proxy = links.get(link);
    if (!proxy) throw new Error(`Unknown link ${link}; known links: ${[...links.keys()].join(', ')}`);
    return proxy;
  };
  return {
    links: () =>
      [...links].map(([link, proxy]) => ({
        link,
        address: proxy.address,
        open: proxy.open,
        seen: proxy.seen,
        toxics: proxy.toxics,
      })),
    add: ({ link, toxic }: { link: string; toxic: Toxic }) => {
      const handle = proxyOf(link).add(toxic);
      toxics.set(`${link} ${handle.id}`, handle);
      return { id: handle.id };
    },
    remove: ({ link, id }: { link: string; id: number }) => {
      toxics.get(`${link} ${id}`)?.remove();
      toxics.delete(`${link} ${id}`);
    },
    clear: ({ link }: { link: string }) => proxyOf(link).clear(),
    cut: ({ link }: { link: string }) => proxyOf(link).cut(),
    down: ({ link }: { link: string }) => proxyOf(link).down(),
    up: ({ link }: { link: string }) => proxyOf(link).up(),
  };
}

export type FaultOperations = ReturnType<typeof operationsOf>;
