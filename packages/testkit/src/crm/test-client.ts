import type { Crm } from '../crm.ts';

export interface Asking {
  token?: string;
  /** `null` leaves the header out. */
  version?: string | null;
  body?: unknown;
  form?: Record<string, string> | FormData;
  headers?: Record<string, string>;
}

export interface Answered {
  status: number;
  body: Record<string, unknown>;
  headers: Headers;
}

/** One call to the CRM as a client would make it. */
export async function ask(crm: Crm, line: string, asking: Asking = {}): Promise<Answered> {
  const [method = 'GET', path = '/'] = line.split(' ');
  const { token, version = '2021-07-28', body, form, headers } = asking;
  const sent: Record<string, string> = { ...headers };
  if (token !== undefined) sent['Authorization'] = `Bearer ${token}`;
  if (version !== null) sent['Version'] = version;
  if (body !== undefined) sent['Content-Type'] = 'application/json';
  const payload = form instanceof FormData ? form : form && new URLSearchParams(form);
  const response = await fetch(new URL(path, crm.url), {
    method,
    headers: sent,
    body: payload ?? (body === undefined ? null : JSON.stringify(body)),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? {} : JSON.parse(text), headers: response.headers };
}

/** The fields of a token request, with the CRM's client unless others are given. */
export function tokenForm(crm: Crm, fields: Record<string, string>): Record<string, string> {
  return { client_id: crm.settings.clientId, client_secret: crm.settings.clientSecret, ...fields };
}
