import { isNestedTooDeeply } from './json-size.ts';

/** Parses JSON. Returns undefined if the text is not valid JSON, or is nested too deeply to be parsed. */
export function readJson(text: string): unknown {
  if (isNestedTooDeeply(text)) return undefined;
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
