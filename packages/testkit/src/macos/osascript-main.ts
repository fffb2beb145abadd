import { execFileSync } from 'node:child_process';
import { readFileSync, writeSync } from 'node:fs';
import { basename } from 'node:path';
import process from 'node:process';
import { createContext, runInContext } from 'node:vm';

import { createFrameworks } from './accessibility/bridge.ts';
import type { ScreenCalls } from './accessibility/bridge.ts';
import type { EventResult, SimulatedAccount } from './apple-events.ts';
import { limitToEs2021 } from './es2021.ts';
import { conversionError, requireText, unwrap } from './objective-c.ts';
import type { OsascriptFault } from './osascript-faults.ts';
import { readToEnd } from './read-to-end.ts';
import { openSynchronousCalls } from './synchronous-calls.ts';

// `osascript -l JavaScript -e PROGRAM`: runs the program in a context of its own, with the objects of JavaScript for Automation and
// nothing of Node. The first argument is the folder for synchronous calls to the simulated Messages.
const [folder = '', ...args] = process.argv.slice(2);
const source = args[3];
if (
  args.length !== 4 ||
  args[0] !== '-l' ||
  args[1] !== 'JavaScript' ||
  args[2] !== '-e' ||
  source === undefined
) {
  writeSync(2, 'usage: osascript -l JavaScript -e PROGRAM\n');
  process.exit(2);
}

const calls = openSynchronousCalls(folder);
calls.call('recordCall', { program: 'osascript', arguments: args, pid: process.pid });
const fault = calls.call('takeOsascriptFault') as OsascriptFault | null;

const GARBAGE = Buffer.from('\u0000\ufffd not JSON\n{{{\n');

const MISBEHAVIOUR: Partial<Record<OsascriptFault, () => void>> = {
  hang_before: hang,
  killed_before: () => process.kill(process.pid, 'SIGKILL'),
  garbage: () => exitAfter(GARBAGE),
  flood: () => exitAfter(`${'x'.repeat(1000)}\n`.repeat(10_000)),
  half_json: () => exitAfter('{"step":"dispa'),
  silent: () => process.exit(0),
};
if (fault !== null) MISBEHAVIOUR[fault]?.();

/** Performs an Apple event. Its error has a number, as in JavaScript for Automation. */
function event(name: string, argument: object = {}): unknown {
  const result = calls.call(name, argument) as EventResult<unknown>;
  if ('value' in result) return result.value;
  throw Object.assign(new Error('An error occurred.'), { errorNumber: result.error });
}

interface LiveChat {
  id: string;
  handles: string[];
}

function liveChats(): LiveChat[] {
  return event('chats') as LiveChat[];
}

class FilePath {
  readonly path: string;
  constructor(path: string) {
    this.path = path;
  }
}

class Participant {
  readonly service: string;
  readonly handle: string;
  constructor(service: string, handle: string) {
    this.service = service;
    this.handle = handle;
  }
}

class Chat {
  readonly chatId: string;
  readonly participants: { handle: () => string[] };
  constructor(chatId: string) {
    this.chatId = chatId;
    this.participants = { handle: () => this.#live().handles };
  }
  id(): string {
    return this.#live().id;
  }
  #live(): LiveChat {
    const live = liveChats().find(({ id }) => id === this.chatId);
    if (live === undefined) throw Object.assign(new Error('Can’t get object.'), { errorNumber: -1728 });
    return live;
  }
}

const messages = {
  accounts: () =>
    (event('accounts') as SimulatedAccount[]).map(({ service, enabled, connection }) => ({
      serviceType: () => service,
      enabled: () => enabled,
      connectionStatus: () => connection,
      participants: { byName: (handle: string) => new Participant(service, requireText(handle)) },
    })),
  chats: {
    id: () => liveChats().map(({ id }) => id),
    byId: (id: string) => new Chat(requireText(id)),
  },
  send: (content: unknown, options: { to?: unknown } = {}) => {
    const { to } = options;
    if (!(to instanceof Chat) && !(to instanceof Participant)) throw conversionError();
    const target = to instanceof Chat ? { chatId: to.chatId } : { service: to.service, handle: to.handle };
    if (content instanceof FilePath)
      event('send', {
        to: target,
        file: {
          name: basename(content.path),
          path: content.path,
          base64: readFileSync(content.path).toString('base64'),
        },
      });
    else event('send', { to: target, text: requireText(content) });
    breakAfterEvent();
  },
};

const screen = new Proxy({} as ScreenCalls, {
  get: (_, name) => (argument: object) => {
    const result = calls.call('screenCall', { name, argument });
    if (name === 'perform' || name === 'key') breakAfterEvent();
    return result;
  },
});
const streams = {
  readInput: () => readToEnd(0),
  writeOutput: (bytes: Buffer) => {
    if (fault !== 'silent_after') writeSync(1, fault === 'garbage_after' ? GARBAGE : bytes);
  },
};
const { bindFunction, frameworks, Ref, delay } = createFrameworks(screen, streams, pause);

const imported = new Set<string>();
const context = createContext(
  {
    Application: (name: string) => {
      if (name !== 'Messages')
        throw Object.assign(new Error('Application can’t be found.'), { errorNumber: -2700 });
      return messages;
    },
    Path: (path: unknown) => new FilePath(requireText(path)),
    ObjC: {
      import: (name: string) => void imported.add(name),
      bindFunction,
      unwrap,
    },
    get $() {
      if (!imported.has('Foundation')) throw new Error('Foundation was not imported');
      return frameworks;
    },
    Ref,
    delay,
  },
  { codeGeneration: { strings: false, wasm: false } },
);
limitToEs2021(context);
runInContext(source, context);

function breakAfterEvent(): void {
  if (fault === 'killed_after') process.kill(process.pid, 'SIGKILL');
  if (fault === 'hang_after') hang();
}

function hang(): void {
  pause(600_000);
}

function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** Writes the output as fast as it is read, and ends. */
function exitAfter(output: string | Buffer): void {
  execFileSync('cat', { input: output, stdio: ['pipe', 'inherit', 'ignore'], maxBuffer: Infinity });
  process.exit(0);
}
