import { isIP } from 'node:net';

/**
 * Returns whether a request may name this host. A web page can point a name of its own at the service and would then be of the same
 * origin (T71): only a name in the public DNS can do that, so addresses, names without a dot and those of the machine itself are allowed.
 */
export function allowedHosts(names: readonly string[]): (host: string) => boolean {
  const allowed = new Set(names.map(nameOf));
  return (host) => {
    const name = nameOf(host);
    const isPublicName = name.includes('.') && !name.startsWith('[') && isIP(name) === 0;
    return !isPublicName || name.endsWith('.localhost') || allowed.has(name);
  };
}

/** `Bridge.example.com.:443` → `bridge.example.com` */
const nameOf = (host: string) => host.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '');
