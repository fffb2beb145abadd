/** What the programs use of Accessibility and AppKit through the Objective-C bridge of JavaScript for Automation. */
export interface JxaAccessibility {
  readonly ObjC: {
    import(framework: string): void;
    bindFunction(name: string, types: readonly [result: string, parameters: readonly string[]]): void;
    unwrap(value: unknown): unknown;
  };
  readonly $: Frameworks;
  Ref(): OutParameter;
  delay(seconds: number): void;
}

/** An object of the bridge. An AXUIElement has no properties: it is passed to functions. */
export type NativeObject = object;

/** Holds what a function returns through a pointer. */
export interface OutParameter {
  readonly 0: unknown;
}

export interface NativeArray<T> {
  readonly count: number;
  objectAtIndex(index: number): T;
}

export interface RunningApplication {
  readonly processIdentifier: number;
  activateWithOptions(options: number): boolean;
}

export interface NativeBundle {
  /** The languages of its labels, the one in use first. */
  readonly preferredLocalizations: NativeArray<NativeObject>;
  localizedStringForKeyValueTable(key: string, value: string, table: string): NativeObject;
  pathForResourceOfType(name: string, type: string): NativeObject;
}

export interface NativeDictionary {
  objectForKey(key: string): NativeObject;
  allKeysForObject(value: string): NativeArray<NativeObject>;
}

export interface Frameworks {
  readonly NSFileHandle: {
    readonly fileHandleWithStandardInput: { readonly readDataToEndOfFile: object };
    readonly fileHandleWithStandardOutput: { writeData(data: object): void };
  };
  readonly NSString: {
    readonly alloc: { initWithDataEncoding(data: object, encoding: number): object };
    stringWithString(text: string): { dataUsingEncoding(encoding: number): object };
  };
  readonly NSURL: { URLWithString(address: string): NativeObject };
  readonly NSWorkspace: {
    readonly sharedWorkspace: {
      readonly frontmostApplication: RunningApplication;
      openURL(url: NativeObject): boolean;
    };
  };
  readonly NSRunningApplication: {
    runningApplicationsWithBundleIdentifier(id: string): NativeArray<RunningApplication>;
  };
  readonly NSBundle: { bundleWithPath(path: string): NativeBundle };
  readonly NSDictionary: { dictionaryWithContentsOfFile(path: string): NativeDictionary };
  AXIsProcessTrusted(): boolean;
  AXUIElementCreateApplication(pid: number): NativeObject;
  AXUIElementSetMessagingTimeout(element: NativeObject, seconds: number): number;
  AXUIElementCopyAttributeValue(element: NativeObject, name: string, value: OutParameter): number;
  AXUIElementCopyActionNames(element: NativeObject, names: OutParameter): number;
  AXUIElementSetAttributeValue(element: NativeObject, name: string, value: unknown): number;
  AXUIElementPerformAction(element: NativeObject, name: string): number;
  CGSessionCopyCurrentDictionary(): NativeDictionary;
  CGEventSourceSecondsSinceLastEventType(state: number, type: number): number;
  CGEventCreateKeyboardEvent(source: null, code: number, down: boolean): NativeObject;
  CGEventPost(tap: number, event: NativeObject): void;
}
