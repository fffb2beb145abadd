/** The little of WebAssembly that is used here; Node's types leave it to the browser's. */
declare namespace WebAssembly {
  const Module: new (program: Uint8Array) => object;
  class Instance {
    constructor(module: object, imports?: object);
    readonly exports: Readonly<Record<string, unknown>>;
  }
  class Global {
    value: number;
  }
  class Memory {
    grow(pages: number): number;
  }
}
