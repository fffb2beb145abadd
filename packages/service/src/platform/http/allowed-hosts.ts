import { isIP } from 'node:net';

/**
 * Returns whether a request may name this host. A web page can point a name of its own at the service and would then be of the same
 * origin (T71): only a name in the public DNS can do that, so addresses, names without a dot and those of the machine itself are allowed.
 */
export function allowedHosts(names: readonly string[]): (host: string) => boolean {
  const allowed = new Set(names.map(nameOf));
  return (host) => {
    const name = nameOf(host);
    if (name.startsWith('[')) return isIP(name.slice(1, -1)) === 6;
    if (name.includes('.') && isIP(name) === 0) return name.endsWith('.localhost') || allowed.has(name);
    return WITHOUT_DOTS.test(name) || isIP(name) !== 0;
  };
}

/** Empty when a client of HTTP/1.0 names no host. */
const WITHOUT_DOTS = /^[\w-]*$/;

/** `Bridge.example.com.:443` → `bridge.example.com` */
const nameOf = (host: string) => host.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '');
