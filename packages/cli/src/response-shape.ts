/** The part of a JSON value that the commands use: a type, a list, or an object with at least these fields. */
export type Shape = 'text' | 'number' | 'flag' | readonly [Shape] | { readonly [name: string]: Shape };

/** Returns whether a value has at least the fields of the shape. Other fields are ignored. */
export function hasShape(value: unknown, shape: Shape): boolean {
  if (shape === 'text') return typeof value === 'string';
  if (shape === 'number') return typeof value === 'number';
  if (shape === 'flag') return typeof value === 'boolean';
  if (isList(shape)) return Array.isArray(value) && value.every((item) => hasShape(item, shape[0]));
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.entries(shape).every(([name, inner]) => hasShape(Reflect.get(value, name), inner));
}

const isList = (shape: Shape): shape is readonly [Shape] => Array.isArray(shape);
