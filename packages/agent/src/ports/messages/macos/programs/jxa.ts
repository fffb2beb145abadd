/** What the programs use of JavaScript for Automation. Every property of an application's object is read by calling it. */
export interface Jxa {
  Application(name: string): MessagesApplication;
  Path(path: string): object;
  readonly ObjC: {
    import(framework: string): void;
    unwrap(value: object): unknown;
  };
  readonly $: Foundation;
}

export interface MessagesApplication {
  accounts(): readonly Account[];
  readonly chats: { byId(id: string): LiveChat; id(): readonly string[] };
  send(content: string | object, options: { readonly to: object }): void;
}

export interface Account {
  serviceType(): string;
  enabled(): boolean;
  connectionStatus(): string;
  readonly participants: { byName(handle: string): object };
}

export interface LiveChat {
  id(): string;
  readonly participants: { handle(): readonly string[] };
}

export interface Foundation {
  readonly NSFileHandle: {
    readonly fileHandleWithStandardInput: { readonly readDataToEndOfFile: object };
    readonly fileHandleWithStandardOutput: { writeData(data: object): void };
  };
  readonly NSString: {
    readonly alloc: { initWithDataEncoding(data: object, encoding: number): object };
    stringWithString(text: string): { dataUsingEncoding(encoding: number): object };
  };
}
