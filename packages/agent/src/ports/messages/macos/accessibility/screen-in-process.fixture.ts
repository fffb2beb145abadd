import { rmSync } from 'node:fs';
import { join } from 'node:path';

import type { Clock } from '@footbridge/runtime/clock';
import { runInProcess } from '@footbridge/testkit/macos/accessibility/run-in-process';
import { Screen } from '@footbridge/testkit/macos/accessibility/screen';
import type { MacosVersion } from '@footbridge/simulator/chat-db';
import { MessagesApp } from '@footbridge/simulator/messages-app';

import { pressTapback } from './press-tapback.ts';
import type { UnconfirmedPress } from './press-tapback.ts';
import { sendOnScreen } from './send-on-screen.ts';
import { MacShape } from '../mac-shape.ts';
import { MacStore } from '../mac-store.ts';
import type { ProgramRunner } from '../osascript.ts';
import type { Destination, OutgoingMessage, PressResult, TapbackPress } from '../../messages.ts';
import type { Outcome } from '../../../../outcome.ts';

/** A clock on which pauses take no time: each moves it. */
class MovingClock implements Clock {
  #time = Date.UTC(2026, 0, 1);

  now(): number {
    return this.#time;
  }

  monotonic(): number {
    return this.#time;
  }

  advance(ms: number): void {
    this.#time += ms;
  }

  after(): () => void {
    throw new Error('Nothing waits for this clock.');
  }

  async sleep(ms: number): Promise<void> {
    this.advance(ms);
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
  }
}

/**
 * The screen of a Mac in this process: the programs run unmodified in a context of their own, without `osascript`, and on a clock
 * on which pauses take no time.
 */
export class ScreenInProcess {
  readonly app: MessagesApp;
  readonly screen: Screen;
  readonly store: MacStore;
  readonly clock = new MovingClock();
  readonly #home: string;
  readonly #unconfirmed = new Map<string, UnconfirmedPress>();
  /** How often a program ran. */
  runs = 0;
  /** Runs before a program, after the engine has read the store. */
  beforeRun: () => void = () => undefined;

  constructor(home: string, macos: MacosVersion) {
    this.#home = home;
    this.app = new MessagesApp(home, macos);
    this.screen = new Screen(this.app, () => this.clock.now());
    let saved: string | undefined;
    const memory = {
      load: () => saved,
      save: (value: string) => {
        saved = value;
      },
    };
    this.store = new MacStore({ home, messages: join(home, 'Library/Messages') }, memory);
  }

  react(press: TapbackPress): Promise<PressResult> {
    return pressTapback(press, { ...this.#deps(), unconfirmed: this.#unconfirmed });
  }

  send(message: OutgoingMessage, destination: Destination): Promise<Outcome> {
    return sendOnScreen(message, destination, this.#deps());
  }

  shape(): MacShape {
    return new MacShape({ ...this.#deps(), log: '' });
  }

  close(): void {
    this.store.close();
    this.app.close();
    rmSync(this.#home, { recursive: true, force: true });
  }

  #deps() {
    const osascript: ProgramRunner = {
      run: (program, input) => {
        this.runs += 1;
        this.beforeRun();
        const { screen, clock } = this;
        const output = runInProcess(program, { screen, input, clock });
        const lines = output.split('\n').filter((line) => line !== '');
        return Promise.resolve({ end: 'ended', lines: lines.map((line): unknown => JSON.parse(line)) });
      },
    };
    const startMessages = () => Promise.resolve(this.screen.start());
    return { store: this.store, clock: this.clock, osascript, startMessages };
  }
}
