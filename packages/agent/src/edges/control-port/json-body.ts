import { CLASSIC_TYPES } from '@footbridge/protocol/metadata';

/** A call that says something which cannot be understood. */
export class BadCall extends Error {
  override readonly name = 'BadCall';
}

/** A JSON object whose fields are taken out one by one; the errors name the field. */
export class Body {
  readonly #fields: ReadonlyMap<string, unknown>;
  readonly #place: string;

  constructor(value: unknown, place = '') {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new BadCall(`${place === '' ? 'the body' : place} must be a JSON object`);
    }
    this.#fields = new Map(Object.entries(value));
    this.#place = place;
  }

  has(name: string): boolean {
    return this.#fields.get(name) !== undefined && this.#fields.get(name) !== null;
  }

  text(name: string): string {
    const value = this.#fields.get(name);
    if (typeof value !== 'string' || !value.isWellFormed()) throw this.#wrong(name, 'a string');
    return value;
  }

  whole(name: string): number {
    const value = this.#fields.get(name);
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
      throw this.#wrong(name, 'a whole number');
    }
    return value;
  }

  flag(name: string): boolean {
    const value = this.#fields.get(name);
    if (typeof value !== 'boolean') throw this.#wrong(name, 'true or false');
    return value;
  }

  oneOf<T extends string>(name: string, choices: readonly T[]): T {
    const value = this.#fields.get(name);
    const chosen = choices.find((choice) => choice === value);
    if (chosen === undefined) throw this.#wrong(name, `one of ${choices.join(', ')}`);
    return chosen;
  }

  object(name: string): Body {
    return new Body(this.#fields.get(name), this.#path(name));
  }

  list<T>(name: string, read: (value: unknown, place: string) => T): T[] {
    const value = this.#fields.get(name);
    if (!Array.isArray(value)) throw this.#wrong(name, 'an array');
    return value.map((entry: unknown, index) => read(entry, `${this.#path(name)}[${index}]`));
  }

  /** What `read` makes of the field, as part of an object in which absent fields stay absent. */
  optional<N extends string, T>(name: N, read: (name: N) => T): { readonly [K in N]?: T } {
    return this.has(name) ? ({ [name]: read(name) } as { readonly [K in N]?: T }) : {};
  }

  #path(name: string): string {
    return this.#place === '' ? name : `${this.#place}.${name}`;
  }

  #wrong(name: string, what: string): BadCall {
    return new BadCall(`${this.#path(name)} must be ${what}`);
  }
}

export function classicType(body: Body): (typeof CLASSIC_TYPES)[number] {
  return body.oneOf('type', CLASSIC_TYPES);
}
