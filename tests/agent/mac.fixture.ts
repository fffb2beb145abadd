import { rmSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { chatIdOf, chatRowOf } from '@footbridge/agent/ports/messages/chat-ids';
import { DEFAULT_SETTINGS, startBlueBubbles } from '@footbridge/testkit/bluebubbles';
import type { BlueBubblesFault, SimulatedBlueBubbles } from '@footbridge/testkit/bluebubbles';
import type { SimulationView } from '@footbridge/simulator/simulation';
import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import type { Cleanup } from '@footbridge/testkit/cleanup';
import { startSimulatedMacos } from '@footbridge/testkit/macos';
import type { SimulatedMacos } from '@footbridge/testkit/macos';
import { MACOS_VERSIONS } from '@footbridge/simulator/chat-db';
import { SkippingClock } from '@footbridge/testkit/skipping-clock';
import { until } from '@footbridge/testkit/until';
import { afterAll, beforeAll, beforeEach } from 'vitest';

import { seenFromOutside } from './engine-agent.ts';
import type { Engine, EngineAgent, EngineFault, EngineFixture, EngineOptions } from './engine-agent.ts';
import { runAgent } from './running-agent.ts';
import type { RunOptions } from './running-agent.ts';

export type MacEngine = Exclude<Engine, 'simulated'>;

const CODES: Readonly<Record<MacEngine, EngineFixture['codes']>> = {
  macos: {
    send_refused: 'AX_DENIED',
    file_refused: 'IMESSAGE_ERROR',
    send_lost: 'TIMEOUT',
    press_refused: 'PICKER_FAILED',
    press_lost: 'TIMEOUT',
    screen_denied: 'AX_DENIED',
  },
  bluebubbles: {
    send_refused: 'IMESSAGE_ERROR',
    file_refused: 'IMESSAGE_ERROR',
    send_lost: 'TIMEOUT',
    press_refused: 'IMESSAGE_ERROR',
    press_lost: 'TIMEOUT',
    // It does not use the screen.
    screen_denied: undefined,
  },
};

/** Starts a simulated Mac for the tests of the enclosing `describe`, each of which begins with an empty store. */
export function sharedMac(engine: MacEngine): () => MacFixture {
  const afterwards = createCleanup();
  let mac: MacFixture | undefined;
  beforeAll(async () => {
    mac = await MacFixture.start(engine, undefined, afterwards);
  });
  afterAll(() => afterwards.run());
  beforeEach(() => mac?.reset());
  return () => {
    if (mac === undefined) throw new Error('The Mac was not started.');
    return mac;
  };
}

export function useMac(engine: MacEngine, cleanup: Cleanup): EngineFixture {
  const shared = sharedMac(engine);
  return {
    engine,
    codes: CODES[engine],
    run: async ({ macos, ...options } = {}) => {
      const mac = macos === undefined ? shared() : await MacFixture.start(engine, macos, cleanup);
      return mac.run(cleanup, options);
    },
  };
}

/** The first store of an agent. */
const GENERATION = 1;
const NOT_ON_IMESSAGE = 22;

/** The people of a simulated Mac, with the calls of the control port of the simulation. Late files wait for `release`. */
export class MacPeople {
  readonly #macos: SimulatedMacos;
  readonly #server: SimulatedBlueBubbles | undefined;

  constructor(macos: SimulatedMacos, server?: SimulatedBlueBubbles) {
    this.#macos = macos;
    this.#server = server;
  }

  async play(path: string, body: object): Promise<object> {
    const segments = path.split('/').filter(Boolean).map(decodeURIComponent);
    if ('imessage' in body) return this.#change(segments[1] ?? '', body.imessage === true);
    let isLate = false;
    const onMac = JSON.parse(JSON.stringify(body), (key, value: unknown) => {
      if (key === 'delayMs') isLate = true;
      if (key === 'chatId') return chatRowOf(GENERATION, Number(value));
      return key === 'delayMs' ? undefined : value;
    }) as object;
    if (isLate) await this.#macos.messages.holdFiles();
    const played = await this.#macos.messages.play({ path: segments, body: onMac });
    const { chatId, ...rest } = played as { chatId?: number };
    return { ...rest, ...(chatId !== undefined && { chatId: chatIdOf(GENERATION, chatId) }) };
  }

  async view(): Promise<SimulationView> {
    await this.#server?.control.settled();
    await this.#macos.messages.settled();
    const chats = await this.#macos.messages.conversations();
    return {
      macos: '26.1',
      permissions: { accessibility: true, automation: true },
      chats: chats.map((chat) => ({ ...chat, id: chatIdOf(GENERATION, chat.id) })),
    };
  }

  async #change(person: string, imessage: boolean): Promise<object> {
    const settings = { notOnIMessage: imessage ? [] : [person] };
    await this.#macos.messages.configure(settings);
    await this.#macos.messages.configureScreen({ sendError: imessage ? 0 : NOT_ON_IMESSAGE });
    await this.#server?.control.configure(settings);
    return {};
  }
}

/** A simulated Mac that can run agents, one after the other. */
export class MacFixture {
  readonly macos: SimulatedMacos;
  readonly server: SimulatedBlueBubbles | undefined;
  readonly people: MacPeople;
  #fault: EngineFault | undefined;
  /** How much was requested when the fault began. */
  #requestedBefore = 0;

  /** `version` is that of macOS, for example `14.8`. */
  static async start(engine: MacEngine, version: string | undefined, cleanup: Cleanup): Promise<MacFixture> {
    const major = MACOS_VERSIONS.find((known) => known === Number.parseInt(version ?? '26', 10));
    if (major === undefined) throw new Error(`There is no simulated macOS ${version}.`);
    const macos = await startSimulatedMacos({ macos: major });
    cleanup.add(() => macos.stop());
    const server = engine === 'bluebubbles' ? await startBlueBubbles(macos) : undefined;
    if (server !== undefined) cleanup.add(() => server.stop());
    return new MacFixture(macos, server);
  }

  private constructor(macos: SimulatedMacos, server: SimulatedBlueBubbles | undefined) {
    this.macos = macos;
    this.server = server;
    this.people = new MacPeople(macos, server);
  }

  /** Removes faults, chats and messages. */
  async reset(): Promise<void> {
    await this.heal();
    await this.macos.messages.release();
    await this.macos.messages.configure({ notOnIMessage: [] });
    await this.macos.messages.configureScreen({ sendError: 0 });
    await this.server?.control.reset();
    await this.macos.messages.rebuild();
    // The record of the last send: a text of another test can be the same.
    rmSync(join(this.macos.home, 'Library/Caches/Footbridge'), { recursive: true, force: true });
  }

  /** The settings that select the engine. */
  get settings(): Record<string, string> {
    if (this.server === undefined) return {};
    return { FOOTBRIDGE_ENGINE: 'bluebubbles', FOOTBRIDGE_BLUEBUBBLES_URL: this.server.url };
  }

  /** Saves the password of BlueBubbles in a data folder. */
  savePassword(dataDir: string): void {
    if (this.server === undefined) return;
    writeFileSync(join(dataDir, 'bluebubbles-password'), DEFAULT_SETTINGS.password, { mode: 0o600 });
  }

  async run(cleanup: Cleanup, options: Omit<EngineOptions, 'macos'>): Promise<EngineAgent> {
    const { macos, people } = this;
    const { messages } = macos;
    const clock = new SkippingClock();
    const dataDir = options.dataDir ?? (await tempDir(cleanup));
    this.savePassword(dataDir);
    const before = await this.requested();
    const onMac: RunOptions = {
      mac: { home: macos.home, programs: macos.commands },
      ...options,
      dataDir,
      // A clock that skips an hour must not end the connection.
      env: { FOOTBRIDGE_HEARTBEAT_SEC: '3600', ...this.settings, ...options.env },
      // A refusal of the simulated server is certain.
      deps: { clock, bluebubbles: { certainMs: 50 }, ...options.deps },
    };
    const running = await runAgent(cleanup, onMac);
    return {
      ...running,
      ...seenFromOutside(running),
      storePath: macos.storePath,
      play: async <T>(path: string, body: object) => (await people.play(path, body)) as T,
      world: async () => ({ ...(await people.view()), queue: 0 }),
      messages: async () => (await people.view()).chats.flatMap((chat) => chat.messages),
      hold: () => messages.hold(),
      release: () => messages.release(),
      fail: (fault) => this.fail(fault),
      heal: () => this.heal(),
      filesArrive: () => messages.release(),
      requested: async () => (await this.requested()) - before,
      statusOfLost: async (requestId) => {
        const find = () => running.service.statuses.find((status) => status.requestId === requestId);
        await until(async () => find() !== undefined || (await this.requested()) > this.#requestedBefore);
        // A program that still controls the screen would be ended.
        const isOnScreen = this.server === undefined && this.#fault === 'press_lost';
        return until(async () => {
          if (!isOnScreen) await clock.skip(1_000);
          return find();
        });
      },
      skip: (ms) => clock.skip(ms),
    };
  }

  async requested(): Promise<number> {
    if (this.server !== undefined) {
      const calls = await this.server.control.calls();
      return calls.filter(({ route }) => !['ping', 'info', 'account'].includes(route)).length;
    }
    const { presses, sends } = await this.macos.messages.screenActions();
    return (await this.macos.messages.sent()).length + presses.length + sends.length;
  }

  async fail(fault: EngineFault): Promise<void> {
    this.#fault = fault;
    this.#requestedBefore = await this.requested();
    if (this.server === undefined) return this.#failMacos(fault);
    await this.server.control.configure({ timeScale: 0.001 });
    const broken = BLUEBUBBLES_FAULTS[fault];
    if (broken !== undefined)
      await this.server.control.fail({ faults: Array.from({ length: 20 }, () => broken) });
  }

  async heal(): Promise<void> {
    const { messages } = this.macos;
    await this.server?.control.heal();
    await messages.configure({ faults: [], sends: {} });
    await messages.configurePrivacy({ automation: 'granted', accessibility: true });
    await messages.configureScreen({ hasSheet: false, press: 'works', sends: 'as_requested' });
    for (const folder of this.#stagingFolders) rmSync(folder, { recursive: true, force: true });
  }

  async #failMacos(fault: EngineFault): Promise<void> {
    const { messages } = this.macos;
    if (fault === 'send_refused') await messages.configurePrivacy({ automation: 'denied' });
    if (fault === 'send_lost') {
      await messages.configure({ sends: { row: 'none' } });
      await messages.configureScreen({ sends: 'without_row' });
    }
    if (fault === 'press_refused') await messages.configureScreen({ hasSheet: true });
    if (fault === 'press_lost') await messages.configureScreen({ press: 'has_no_effect' });
    if (fault === 'screen_denied') await messages.configurePrivacy({ accessibility: false });
    if (fault !== 'file_refused') return;
    // Something else is in the place of the folders that files are copied to.
    for (const folder of this.#stagingFolders) {
      rmSync(folder, { recursive: true, force: true });
      await mkdir(dirname(folder), { recursive: true });
      writeFileSync(folder, '');
    }
  }

  get #stagingFolders(): string[] {
    const { home } = this.macos;
    return [
      join(home, 'Library/Messages/.send-staging'),
      join(home, 'Library/Containers/com.apple.MobileSMS/Data/tmp/footbridge'),
    ];
  }
}

const REFUSED: BlueBubblesFault = { reply: { refuse: 'iMessage Private API Helper is not connected!' } };

const BLUEBUBBLES_FAULTS: Readonly<Record<EngineFault, BlueBubblesFault | undefined>> = {
  send_refused: REFUSED,
  file_refused: { ...REFUSED, route: 'attachment' },
  send_lost: { effect: false },
  press_refused: { ...REFUSED, route: 'react' },
  press_lost: { effect: false, route: 'react' },
  screen_denied: undefined,
};
