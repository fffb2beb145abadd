import type { OperatorCode } from '../codes.ts';
import type { FromSchema, ObjectSchema, Schema } from '../schema.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** One call of the operator API. It is data: the service, its clients and the documents are made from it. */
export interface Call {
  readonly method: Method;
  /** With parameters such as `:locationId`. */
  readonly path: string;
  /** For the documents: what it is for. */
  readonly summary: string;
  /**
   * What a token for some locations may do with it. `none`: nothing, the call is about all locations. `named`: the path names the
   * location. `filtered`: the call shows and changes only what belongs to the locations of the token.
   */
  readonly locations: 'none' | 'named' | 'filtered';
  /** Of a call that is not a GET: it changes nothing. */
  readonly reads?: true;
  readonly query?: ObjectSchema;
  readonly body?: Schema;
  readonly bodyLimit?: number;
  readonly status: 200 | 201 | 202 | 204;
  readonly response?: ObjectSchema;
  /** The response has a secret that is shown once: it must not be cached. */
  readonly secret?: true;
  /** Error codes besides those that every call may have. */
  readonly errors?: readonly OperatorCode[];
  /** For the documents: what the schemas do not say, in Markdown. */
  readonly notes?: string;
}

type Shared = Pick<Call, 'summary' | 'locations' | 'reads' | 'bodyLimit' | 'secret' | 'errors' | 'notes'>;
interface Given extends Shared {
  readonly query?: ObjectSchema;
  readonly body?: Schema;
  readonly status?: Call['status'];
  readonly response?: ObjectSchema;
}

/** The status is 200, or 204 without a response. A bundler leaves out the calls that a client does not use. */
// @__NO_SIDE_EFFECTS__
export function call<const M extends Method, const P extends string, const G extends Given>(
  method: M,
  path: P,
  given: G,
) {
  const status: Call['status'] = given.status ?? (given.response === undefined ? 204 : 200);
  return { ...given, method, path, status };
}

type ParamOf<P> = P extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParamOf<Rest>
  : P extends `${string}:${infer Name}`
    ? Name
    : never;

export type ParamsOf<C extends Call> = { readonly [K in ParamOf<C['path']>]: string };
export type QueryOf<C extends Call> = C extends { query: infer Q } ? FromSchema<Q> : {};
export type BodyOf<C extends Call> = C extends { body: infer B } ? FromSchema<B> : {};
export type ResponseOf<C extends Call> = C extends { response: infer R } ? FromSchema<R> : void;

type OrUndefined<T> = { readonly [K in keyof T]: {} extends Pick<T, K> ? T[K] | undefined : T[K] };
/** What a client gives: the parameters of the path, the query and the body, in one object. What is undefined is left out. */
export type InputOf<C extends Call> = ParamsOf<C> & OrUndefined<QueryOf<C>> & OrUndefined<BodyOf<C>>;
/** The arguments of a client's function for a call: none for a call without parameters, query and body. */
export type Arguments<C extends Call> = {} extends InputOf<C> ? [InputOf<C>?] : [InputOf<C>];

export interface CallRequest {
  readonly method: Method;
  /** With the query. */
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>>;
}

/** Returns the HTTP request of a call. */
export function requestOf(definition: Call, input: Readonly<Record<string, unknown>>): CallRequest {
  const { method, path, query, body } = definition;
  const rest = new Map(Object.entries(input).filter(([, value]) => value !== undefined));
  const take = (name: string): unknown => {
    const value = rest.get(name);
    rest.delete(name);
    return value;
  };
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(take(name))));
  const search = new URLSearchParams();
  for (const name of Object.keys(query?.properties ?? {}))
    if (rest.has(name)) search.append(name, String(take(name)));
  return {
    method,
    path: search.size === 0 ? filled : `${filled}?${search.toString()}`,
    ...(body !== undefined && { body: Object.fromEntries(rest) }),
  };
}

export const changesSomething = ({ method, reads }: Call): boolean => method !== 'GET' && reads !== true;
