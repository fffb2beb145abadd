/** Parses JSON. Returns undefined for any other text. */
export function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Parses a JSON object or array. Returns an empty object for any other text. */
export function readObject(text: string): Readonly<Record<string, unknown>> {
  const value = readJson(text);
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
