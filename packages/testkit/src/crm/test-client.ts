import type { Crm } from '../crm.ts';

export interface RequestOptions {
  token?: string;
  /** `null` omits the header. */
  version?: string | null;
  body?: unknown;
  form?: Record<string, string> | FormData;
  headers?: Record<string, string>;
}

export interface ResponseData {
  status: number;
  body: Record<string, unknown>;
  headers: Headers;
}

/** Calls the CRM as a client would. `line` is the method and the path. */
export async function request(crm: Crm, line: string, options: RequestOptions = {}): Promise<ResponseData> {
  const [method = 'GET', path = '/'] = line.split(' ');
  const { token, version = '2021-07-28', body, form, headers } = options;
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

/** Returns the fields of a token request, with the CRM's client credentials as defaults. */
export function tokenForm(crm: Crm, fields: Record<string, string>): Record<string, string> {
  return { client_id: crm.settings.clientId, client_secret: crm.settings.clientSecret, ...fields };
}
