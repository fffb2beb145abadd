import {
  conversionError,
  createFoundation,
  NativeArray,
  NativeAttributedText,
  NativeDictionary,
  NativeNumber,
  NativeText,
  NIL,
  requireText,
} from '../objective-c.ts';
import type { StandardStreams } from '../objective-c.ts';
import type { AxElement, AxValue } from './element.ts';
import { LANGUAGES } from './labels.ts';
import type { LabelTable } from './labels.ts';
import type { Screen } from './screen.ts';

/** What the bridge asks the screen. It can be in another process. */
export type ScreenCalls = Pick<
  Screen,
  | 'isTrusted'
  | 'session'
  | 'idleSeconds'
  | 'runningPids'
  | 'frontApplication'
  | 'activate'
  | 'labels'
  | 'systemLanguage'
  | 'open'
  | 'tree'
  | 'perform'
  | 'set'
  | 'key'
>;

const OK = 0;
const ILLEGAL_ARGUMENT = -25201;
const INVALID_ELEMENT = -25202;
const NOT_TRUSTED = -25211;
const NO_VALUE = -25212;

/** The types with which the functions work. Other bindings fail on a Mac. */
const SIGNATURES: Readonly<Record<string, readonly [string, readonly string[]]>> = {
  AXIsProcessTrusted: ['bool', []],
  AXIsProcessTrustedWithOptions: ['bool', ['id']],
  AXUIElementCreateApplication: ['id', ['int']],
  AXUIElementSetMessagingTimeout: ['int', ['id', 'float']],
  AXUIElementCopyAttributeValue: ['int', ['id', 'id', 'id*']],
  AXUIElementCopyActionNames: ['int', ['id', 'id*']],
  AXUIElementSetAttributeValue: ['int', ['id', 'id', 'id']],
  AXUIElementPerformAction: ['int', ['id', 'id']],
  CGSessionCopyCurrentDictionary: ['id', []],
  CGEventSourceSecondsSinceLastEventType: ['double', ['int', 'int']],
  CGEventCreateKeyboardEvent: ['id', ['id', 'int', 'bool']],
  CGEventPost: ['void', ['int', 'id']],
};

const TABLES: Readonly<Record<string, LabelTable>> = {
  '/System/iOSSupport/System/Library/AccessibilityBundles/ChatKitFramework.axbundle': 'Accessibility',
  '/System/iOSSupport/System/Library/PrivateFrameworks/ChatKit.framework': 'ChatKit',
};

/** An AXUIElement. */
class Element {
  readonly id: string;
  constructor(id: string) {
    this.id = id;
  }
}

class OutParameter {
  0: unknown = undefined;
}

class KeyEvent {
  readonly code: number;
  readonly isDown: boolean;
  constructor(code: number, isDown: boolean) {
    this.code = code;
    this.isDown = isDown;
  }
}

class Url {
  readonly address: string;
  constructor(address: string) {
    this.address = address;
  }
}

/** The frameworks as JavaScript for Automation sees them. `pause` is called for `delay`. */
export function createFrameworks(screen: ScreenCalls, streams: StandardStreams, pause: (ms: number) => void) {
  const foundation = createFoundation(streams);
  let seen: { readonly isTrusted: boolean; readonly elements: ReadonlyMap<string, AxElement> } | undefined;
  /** The elements stay the same until something can have changed them. */
  const changed = <T>(result: T): T => {
    seen = undefined;
    return result;
  };
  const look = () => (seen ??= { isTrusted: screen.isTrusted(), elements: indexOf(screen.tree()) });
  const arrayOf = (items: readonly AxElement[]): NativeArray =>
    new NativeArray(items.map((item) => new Element(item.id)));

  const read = (element: AxElement, name: string): object | undefined => {
    if (name === 'AXChildren') return arrayOf(element.children);
    if (name === 'AXWindows' && element.id === 'application') return arrayOf(element.children);
    const value = element.attributes[name];
    return value === undefined ? undefined : nativeOf(value);
  };
  const applicationOf = (pid: number) => ({
    processIdentifier: pid,
    activateWithOptions: () => {
      screen.activate({ pid });
      return changed(true);
    },
  });
  const bundleOf = (table: LabelTable) => ({
    get preferredLocalizations() {
      return new NativeArray([new NativeText(screen.systemLanguage())]);
    },
    localizedStringForKeyValueTable: (key: unknown, value: unknown, wanted: unknown) => {
      requireText(value);
      const labels = requireText(wanted) === table ? screen.labels({ table }) : {};
      return new NativeText(labels[requireText(key)] ?? requireText(key));
    },
    pathForResourceOfType: (name: unknown, type: unknown) =>
      requireText(name) === table && requireText(type) === 'loctable'
        ? new NativeText(`/${table}.loctable`)
        : NIL,
  });
  const languagesOf = (table: LabelTable): NativeDictionary =>
    new NativeDictionary(
      Object.fromEntries(
        LANGUAGES.map((language) => [language, dictionaryOf(screen.labels({ table, language }))] as const),
      ),
    );

  const functions: Readonly<Record<string, (...args: never[]) => unknown>> = {
    AXIsProcessTrusted: () => screen.isTrusted(),
    AXIsProcessTrustedWithOptions: (options: unknown) => {
      if (!(options instanceof NativeDictionary)) throw conversionError();
      return screen.isTrusted();
    },
    AXUIElementCreateApplication: (pid: unknown) => {
      if (typeof pid !== 'number') throw conversionError();
      return new Element(screen.runningPids().includes(pid) ? 'application' : 'gone');
    },
    AXUIElementSetMessagingTimeout: (element: unknown, seconds: unknown) =>
      requireElement(element) !== '' && typeof seconds === 'number' ? OK : ILLEGAL_ARGUMENT,
    AXUIElementCopyAttributeValue: (element: unknown, name: unknown, value: unknown) => {
      if (!(value instanceof OutParameter)) throw conversionError();
      const id = requireElement(element);
      const wanted = requireText(name);
      const { isTrusted, elements } = look();
      if (!isTrusted) return NOT_TRUSTED;
      const found = elements.get(id);
      if (found === undefined) return INVALID_ELEMENT;
      const result = read(found, wanted);
      if (result === undefined) return NO_VALUE;
      value[0] = result;
      return OK;
    },
    AXUIElementCopyActionNames: (element: unknown, names: unknown) => {
      if (!(names instanceof OutParameter)) throw conversionError();
      const found = look().elements.get(requireElement(element));
      if (found === undefined) return INVALID_ELEMENT;
      names[0] = new NativeArray(found.actions.map((action) => new NativeText(action)));
      return OK;
    },
    AXUIElementSetAttributeValue: (element: unknown, name: unknown, value: unknown) =>
      changed(screen.set({ id: requireElement(element), name: requireText(name), value })),
    AXUIElementPerformAction: (element: unknown, action: unknown) =>
      changed(screen.perform({ id: requireElement(element), action: requireText(action) })),
    CGSessionCopyCurrentDictionary: () => {
      // A program that checks the session looks at the elements again.
      const { isOnConsole, isLocked } = changed(screen.session());
      return new NativeDictionary({
        kCGSSessionOnConsoleKey: new NativeNumber(isOnConsole),
        // Absent while the screen is not locked.
        ...(isLocked && { CGSSessionScreenIsLocked: new NativeNumber(true) }),
      });
    },
    CGEventSourceSecondsSinceLastEventType: () => screen.idleSeconds(),
    CGEventCreateKeyboardEvent: (_source: null, code: number, isDown: boolean) => new KeyEvent(code, isDown),
    CGEventPost: (_tap: number, event: unknown) => {
      if (!(event instanceof KeyEvent)) throw conversionError();
      changed(screen.key({ code: event.code, isDown: event.isDown }));
    },
  };
  const classes = {
    NSURL: { URLWithString: (address: unknown) => new Url(requireText(address)) },
    NSWorkspace: {
      sharedWorkspace: {
        get frontmostApplication() {
          return applicationOf(screen.frontApplication());
        },
        openURL: (url: unknown) => {
          if (!(url instanceof Url)) throw conversionError();
          return changed(screen.open({ url: url.address }));
        },
      },
    },
    NSRunningApplication: {
      runningApplicationsWithBundleIdentifier: (id: unknown) =>
        new NativeArray(
          requireText(id) === 'com.apple.MobileSMS' ? screen.runningPids().map(applicationOf) : [],
        ),
    },
    NSBundle: {
      bundleWithPath: (path: unknown) => {
        const table = TABLES[requireText(path)];
        return table === undefined ? NIL : bundleOf(table);
      },
    },
    NSDictionary: {
      dictionaryWithContentsOfFile: (path: unknown) => {
        const table = /^\/(Accessibility|ChatKit)\.loctable$/.exec(requireText(path))?.[1];
        return table === undefined ? NIL : languagesOf(table as LabelTable);
      },
    },
  };
  const wrap = (entries: Readonly<Record<string, AxValue>>) => dictionaryOf(entries);
  const frameworks = Object.assign(wrap, foundation, classes);

  return {
    bindFunction: (name: string, types: unknown) => {
      if (JSON.stringify(types) !== JSON.stringify(SIGNATURES[name]))
        throw new Error(`${name} does not work with these types`);
      Object.assign(frameworks, { [name]: functions[name] });
    },
    Ref: () => new OutParameter(),
    delay: (seconds: unknown) => {
      if (typeof seconds !== 'number') throw conversionError();
      changed(pause(seconds * 1000));
    },
    /** `$`: the classes, and the functions that were bound. */
    frameworks,
  };
}

function requireElement(value: unknown): string {
  if (!(value instanceof Element)) throw conversionError();
  return value.id;
}

function nativeOf(value: AxValue): object {
  if (typeof value === 'string') return new NativeText(value);
  if (typeof value !== 'object') return new NativeNumber(value);
  if ('attributed' in value) return new NativeAttributedText(value.attributed);
  return new NativeArray(value.linked.map((id) => new Element(id)));
}

function dictionaryOf(entries: Readonly<Record<string, AxValue>>): NativeDictionary {
  return new NativeDictionary(
    Object.fromEntries(Object.entries(entries).map(([key, value]) => [key, nativeOf(value)])),
  );
}

function indexOf(root: AxElement): Map<string, AxElement> {
  const index = new Map<string, AxElement>();
  const pending = [root];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    index.set(next.id, next);
    pending.push(...next.children);
  }
  return index;
}
