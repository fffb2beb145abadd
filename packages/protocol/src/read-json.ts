/** Parses JSON. Returns undefined if the text is not valid JSON. */
export function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Parses a JSON object or array. Returns an empty object for other values and for invalid JSON. */
export function readObject(text: string): Readonly<Record<string, unknown>> {
  const value = readJson(text);
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
