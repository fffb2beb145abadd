/** Headers in the form that Node, `fetch` or a web framework provides. */
export type RequestHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/** Returns all values of a header, including empty ones. */
export function headerValues(headers: RequestHeaders, name: string): readonly string[] {
  if (isHeaders(headers)) return [headers.get(name)].filter((value) => value !== null);
  return Object.entries(headers).flatMap(([key, value]) => (sameName(key, name) ? (value ?? []) : []));
}

export function sameName(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

function isHeaders(headers: RequestHeaders): headers is Headers {
  return typeof headers['get'] === 'function';
}
