/** The part of WebAssembly that is used here; Node's types leave it to the DOM's. */
declare namespace WebAssembly {
  type Module = object;
  const Module: new (program: Uint8Array) => Module;
  class Instance {
    constructor(module: Module, imports?: object);
    readonly exports: Readonly<Record<string, unknown>>;
  }
  class Global {
    value: number;
  }
  class Memory {
    grow(pages: number): number;
  }
}
