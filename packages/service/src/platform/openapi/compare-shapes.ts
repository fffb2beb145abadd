/**
 * Returns the changes that would break a client of an earlier document: a removed path, method, response, parameter, header or field, a
 * changed type or fixed value, a field that a request must now have or that a response no longer guarantees.
 * Additions, descriptions and examples are not breaking changes.
 */
export function breakingChanges(before: unknown, after: unknown): string[] {
  const documents = { before, after };
  return compare(before, after, { place: '', direction: 'response', documents, seen: new Set() });
}

interface Context {
  readonly place: string;
  /** The fields of a request may become optional; those of a response must stay. */
  readonly direction: 'request' | 'response';
  readonly documents: { readonly before: unknown; readonly after: unknown };
  /** References that are being resolved, so that a cycle ends. */
  readonly seen: ReadonlySet<string>;
}

const PROSE = new Set([
  'description',
  'summary',
  'info',
  'servers',
  'tags',
  'operationId',
  'examples',
  'title',
]);

function compare(before: unknown, after: unknown, context: Context): string[] {
  const { place } = context;
  const reference = referenceOf(before);
  if (reference !== undefined) {
    if (context.seen.has(reference)) return [];
    const seen = new Set([...context.seen, reference]);
    return compare(resolve(before, context.documents.before), resolve(after, context.documents.after), {
      ...context,
      seen,
    });
  }
  const resolved = resolve(after, context.documents.after);
  if (Array.isArray(before)) return compareLists(before, resolved, context);
  if (!isObject(before)) return before === resolved ? [] : [`${place} changed`];
  if (!isObject(resolved)) return [`${place} is gone`];
  // An operation that had no parameters had an empty list of them.
  const former = Object.hasOwn(resolved, 'parameters') ? { parameters: [], ...before } : before;
  const kept = Object.entries(former).flatMap(([name, value]) => {
    if (name === 'required' && Array.isArray(value)) return [];
    if (PROSE.has(name) && !place.endsWith('/properties')) return [];
    const inner = { ...context, place: `${place}/${name}`, direction: directionOf(name, context) };
    return Object.hasOwn(resolved, name) ? compare(value, resolved[name], inner) : [`${inner.place} is gone`];
  });
  return [...kept, ...compareRequired(before['required'], resolved['required'], context)];
}

/** The service writes its calls to the CRM, so they follow the rules of responses. */
const directionOf = (name: string, { place, direction }: Context) =>
  name === 'requestBody' && !place.startsWith('/webhooks') ? 'request' : direction;

function compareRequired(before: unknown, after: unknown, { place, direction }: Context): string[] {
  const former = Array.isArray(before) ? before : [];
  const now = Array.isArray(after) ? after : [];
  return direction === 'request'
    ? now.filter((name) => !former.includes(name)).map((name) => `${place}/${String(name)} is required now`)
    : former
        .filter((name) => !now.includes(name))
        .map((name) => `${place}/${String(name)} is no longer guaranteed`);
}

/** Every earlier variant, parameter or value must still exist. */
function compareLists(before: readonly unknown[], after: unknown, context: Context): string[] {
  if (!Array.isArray(after)) return [`${context.place} changed`];
  const newlyRequired = after
    .filter(
      (entry) =>
        isObject(entry) && entry['required'] === true && !before.some((old) => nameOf(old) === nameOf(entry)),
    )
    .map((entry) => `${context.place}/${nameOf(entry)} is required now`);
  const kept = before.flatMap((entry, at) => {
    const name = nameOf(entry) ?? at;
    const inner = { ...context, place: `${context.place}/${name}` };
    const twin =
      nameOf(entry) === undefined ? undefined : after.find((other) => nameOf(other) === nameOf(entry));
    if (twin !== undefined) return compare(entry, twin, inner);
    if (after.some((other) => compare(entry, other, inner).length === 0)) return [];
    return [`${inner.place} is gone`];
  });
  return [...kept, ...newlyRequired];
}

/** Identifies an entry of a list: a parameter by its name, an error body by its code. */
function nameOf(entry: unknown): string | undefined {
  if (!isObject(entry)) return undefined;
  if (typeof entry['name'] === 'string') return entry['name'];
  const properties = isObject(entry['properties']) ? entry['properties'] : {};
  const code = properties['code'];
  return isObject(code) && typeof code['const'] === 'string' ? code['const'] : undefined;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const referenceOf = (value: unknown): string | undefined =>
  isObject(value) && typeof value['$ref'] === 'string' ? value['$ref'] : undefined;

function resolve(value: unknown, document: unknown): unknown {
  const reference = referenceOf(value);
  if (reference === undefined) return value;
  return reference
    .slice(2)
    .split('/')
    .reduce((node: unknown, name) => (isObject(node) ? node[name] : undefined), document);
}
