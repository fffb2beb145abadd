import * as contacts from './contact-routes.ts';
import * as reads from './conversation-reads.ts';
import * as conversations from './conversation-routes.ts';
import type { Access } from './request-checks.ts';
import * as oauth from './oauth-routes.ts';
import type { Route } from './types.ts';
import type { Handler } from './state.ts';

export interface RouteEntry {
  readonly name: Route;
  readonly method: string;
  readonly path: string;
  /** If absent, the route requires neither a version header nor a token. */
  readonly access?: Access;
  readonly handle: Handler;
}

const LOCATION = 'location';
const COMPANY = 'company';
const APP = 'app';

export const ROUTES: readonly RouteEntry[] = [
  { name: 'token', method: 'POST', path: '/oauth/token', handle: oauth.token },
  {
    name: 'locationToken',
    method: 'POST',
    path: '/oauth/locationToken',
    access: { for: COMPANY, scope: 'oauth.write' },
    handle: oauth.locationToken,
  },
  {
    name: 'installedLocations',
    method: 'GET',
    path: '/oauth/installedLocations',
    access: { for: COMPANY, scope: 'oauth.readonly' },
    handle: oauth.installedLocations,
  },
  {
    name: 'duplicate',
    method: 'GET',
    path: '/contacts/search/duplicate',
    access: { for: LOCATION, scope: 'contacts.readonly' },
    handle: contacts.duplicate,
  },
  {
    name: 'search',
    method: 'POST',
    path: '/contacts/search',
    access: { for: LOCATION, scope: 'contacts.readonly' },
    handle: contacts.search,
  },
  {
    name: 'upsert',
    method: 'POST',
    path: '/contacts/upsert',
    access: { for: LOCATION, scope: 'contacts.write' },
    handle: contacts.upsert,
  },
  {
    name: 'createContact',
    method: 'POST',
    path: '/contacts/',
    access: { for: LOCATION, scope: 'contacts.write' },
    handle: contacts.createContact,
  },
  {
    name: 'contact',
    method: 'GET',
    path: '/contacts/:contactId',
    access: { for: LOCATION, scope: 'contacts.readonly' },
    handle: contacts.contact,
  },
  {
    name: 'updateContact',
    method: 'PUT',
    path: '/contacts/:contactId',
    access: { for: LOCATION, scope: 'contacts.write' },
    handle: contacts.updateContact,
  },
  {
    name: 'conversations',
    method: 'GET',
    path: '/conversations/search',
    access: { for: LOCATION, scope: 'conversations.readonly' },
    handle: reads.conversations,
  },
  {
    name: 'messages',
    method: 'GET',
    path: '/conversations/:conversationId/messages',
    access: { for: LOCATION, scope: 'conversations/message.readonly' },
    handle: reads.messages,
  },
  {
    name: 'message',
    method: 'GET',
    path: '/conversations/messages/:id',
    access: { for: LOCATION, scope: 'conversations/message.readonly' },
    handle: reads.message,
  },
  {
    name: 'inbound',
    method: 'POST',
    path: '/conversations/messages/inbound',
    access: { for: LOCATION, scope: 'conversations/message.write' },
    handle: conversations.inbound,
  },
  {
    name: 'upload',
    method: 'POST',
    path: '/conversations/messages/upload',
    access: { for: LOCATION, scope: 'conversations/message.write' },
    handle: conversations.upload,
  },
  {
    name: 'status',
    method: 'PUT',
    path: '/conversations/messages/:messageId/status',
    access: { for: APP, scope: 'conversations/message.write' },
    handle: conversations.status,
  },
];

const PATTERNS = ROUTES.map((entry) => ({
  entry,
  pattern: new RegExp(`^${entry.path.replaceAll(/:(\w+)/g, '(?<$1>[^/]+)').replace(/\/$/, '/?')}$`),
}));

export function findRoute(
  method: string,
  path: string,
): { entry: RouteEntry; params: Record<string, string> } | undefined {
  for (const { entry, pattern } of PATTERNS) {
    const found = entry.method === method ? pattern.exec(path) : null;
    if (!found) continue;
    const params = Object.entries(found.groups ?? {}).map(([name, value]) => [name, decoded(value)]);
    return { entry, params: Object.fromEntries(params) };
  }
  return undefined;
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
