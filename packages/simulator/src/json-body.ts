/** A malformed call. The message names the field. */
export class BadRequestError extends Error {
  override readonly name = 'BadRequestError';
}

/** Reads typed fields of a JSON object. Throws a BadRequestError for a field of another type. */
export class JsonBody {
  readonly #fields: ReadonlyMap<string, unknown>;
  readonly #place: string;

  constructor(value: unknown, place = '') {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new BadRequestError(`${place === '' ? 'the body' : place} must be a JSON object`);
    }
    this.#fields = new Map(Object.entries(value));
    this.#place = place;
  }

  has(name: string): boolean {
    return this.#fields.get(name) !== undefined && this.#fields.get(name) !== null;
  }

  text(name: string): string {
    const value = this.#fields.get(name);
    if (typeof value !== 'string' || !value.isWellFormed()) throw this.#invalid(name, 'a string');
    return value;
  }

  integer(name: string): number {
    const value = this.#fields.get(name);
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
      throw this.#invalid(name, 'a whole number of 0 or more');
    }
    return value;
  }

  boolean(name: string): boolean {
    const value = this.#fields.get(name);
    if (typeof value !== 'boolean') throw this.#invalid(name, 'true or false');
    return value;
  }

  oneOf<T extends string>(name: string, choices: readonly T[]): T {
    const value = this.#fields.get(name);
    const chosen = choices.find((choice) => choice === value);
    if (chosen === undefined) throw this.#invalid(name, `one of ${choices.join(', ')}`);
    return chosen;
  }

  object(name: string): JsonBody {
    return new JsonBody(this.#fields.get(name), this.#path(name));
  }

  list<T>(name: string, read: (value: unknown, place: string) => T): T[] {
    const value = this.#fields.get(name);
    if (!Array.isArray(value)) throw this.#invalid(name, 'an array');
    return value.map((entry: unknown, index) => read(entry, `${this.#path(name)}[${index}]`));
  }

  /** Returns an object with the parsed field, or an empty object when the field is absent. */
  optional<N extends string, T>(name: N, read: (name: N) => T): { readonly [K in N]?: T } {
    return this.has(name) ? ({ [name]: read(name) } as { readonly [K in N]?: T }) : {};
  }

  #path(name: string): string {
    return this.#place === '' ? name : `${this.#place}.${name}`;
  }

  #invalid(name: string, expected: string): BadRequestError {
    return new BadRequestError(`${this.#path(name)} must be ${expected}`);
  }
}
