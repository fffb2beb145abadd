import { signal } from '@preact/signals';

/** The part of the address after `/console`, with its filters. A copied address shows the same page. */
export interface Route {
  readonly path: string;
  readonly query: URLSearchParams;
}

const BASE = '/console';

const current = (): Route => ({
  path: window.location.pathname.slice(BASE.length) || '/',
  query: new URLSearchParams(window.location.search),
});

export const route = signal<Route>(current());

window.addEventListener('popstate', () => (route.value = current()));

export function hrefOf(path: string, filters: Readonly<Record<string, string | undefined>> = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filters)) if (value) query.set(name, value);
  const text = query.toString();
  return `${BASE}${path}${text === '' ? '' : `?${text}`}`;
}

export function goTo(href: string): void {
  history.pushState(null, '', href);
  route.value = current();
  window.scrollTo(0, 0);
}

/** For links: follows them without loading the page again, unless the user wants another tab. */
export function follow(event: MouseEvent): void {
  const link = event.currentTarget as HTMLAnchorElement;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
  event.preventDefault();
  goTo(link.href);
}
