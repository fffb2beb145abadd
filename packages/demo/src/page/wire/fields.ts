export type Fields = Readonly<Record<string, unknown>>;

/** Returns the fields of a JSON object, or none for any other text. */
export function readFields(text: string): Fields {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
