import type { Clock } from '@footbridge/runtime/clock';

import type {
  Attribution,
  LiveChats,
  MessagesShape,
  RowShape,
  ShapeFailure,
  WindowShape,
} from '../messages-shape.ts';
import { DESCRIBE_WINDOWS, LIVE_CHATS } from './bundled-programs.ts';
import { ALL_LABELS } from './accessibility/labels.ts';
import { SCREEN_LIMITS } from './accessibility/run-on-screen.ts';
import { generalFailure, refusedFailure, screenFailure } from './accessibility/screen-errors.ts';
import { shownPart } from './accessibility/shown-message.ts';
import { readAttribution } from './attribution-log.ts';
import type { MacStore } from './mac-store.ts';
import type { ProgramRunner } from './osascript.ts';
import type { DescriptionLine, ScreenLine } from './programs/screen-lines.ts';
import type { DescribeInput } from './programs/describe-windows.ts';
import type { LiveChatsLine } from './programs/live-chats.ts';
import { eventFailure } from './send-errors.ts';

const TIMEOUT_MS = 60_000;

export interface MacShapeDeps {
  readonly store: MacStore;
  readonly osascript: ProgramRunner;
  /** The path of `log`. */
  readonly log: string;
  readonly clock: Clock;
}

/** Describes Messages on this Mac, without content. */
export class MacShape implements MessagesShape {
  readonly #store: MacStore;
  readonly #osascript: ProgramRunner;
  readonly #log: string;
  readonly #clock: Clock;

  constructor({ store, osascript, log, clock }: MacShapeDeps) {
    this.#store = store;
    this.#osascript = osascript;
    this.#log = log;
    this.#clock = clock;
  }

  tables(): Readonly<Record<string, readonly string[]>> {
    return this.#store.tables();
  }

  row(guid: string): RowShape | undefined {
    return this.#store.rowShape(guid);
  }

  async liveChats(): Promise<LiveChats | ShapeFailure> {
    const { lines } = await this.#osascript.run(LIVE_CHATS, {}, TIMEOUT_MS);
    const line = (lines as readonly LiveChatsLine[]).at(-1);
    if (line?.step !== 'chats') return eventFailure(line?.number ?? 0);
    const live = new Set(line.ids);
    const stored = this.#store.chats();
    const forms: Record<string, number> = {};
    for (const id of line.ids) forms[formOf(id)] = (forms[formOf(id)] ?? 0) + 1;
    return {
      sameId: percent(stored.filter(({ key }) => live.has(key)).length, stored.length),
      forms: Object.fromEntries(
        Object.entries(forms).map(([form, count]) => [form, percent(count, live.size)]),
      ),
    };
  }

  /** An Apple event to Messages uses a permission and has no other effect. */
  async attribution(): Promise<Attribution | undefined> {
    const { pid } = await this.#osascript.run(LIVE_CHATS, {}, TIMEOUT_MS);
    return pid === undefined ? undefined : await readAttribution(pid, this.#log, this.#clock);
  }

  async windows(guid: string): Promise<WindowShape | ShapeFailure> {
    const row = this.#store.rowByGuid(guid);
    const shown = row === undefined ? undefined : shownPart(this.#store, row);
    if (shown === undefined)
      return screenFailure('TARGET_NOT_FOUND', 'The message has no bubble on this Mac.');
    const input: DescribeInput = { ...shown, labels: ALL_LABELS, limits: SCREEN_LIMITS };
    const output = await this.#osascript.run(DESCRIBE_WINDOWS, input, TIMEOUT_MS);
    const lines = output.lines as readonly (DescriptionLine | ScreenLine)[];
    const refused = lines.find((line) => line.step === 'refused');
    if (refused !== undefined) return refusedFailure(refused.reason, 'reaction');
    if (!lines.some(({ step }) => step === 'described'))
      return generalFailure('The windows of Messages could not be read.', 'reaction');
    return shapeOf(lines);
  }
}

function shapeOf(lines: readonly (DescriptionLine | ScreenLine)[]): WindowShape {
  const labels = lines.filter((line) => line.step === 'label');
  return {
    language: lines.find((line) => line.step === 'language')?.language ?? null,
    labels: Object.fromEntries(labels.map(({ table, key, text }) => [`${table} ${key}`, text])),
    elements: lines.filter((line) => line.step === 'element').map(({ step: _step, ...element }) => element),
  };
}

/** The beginning of the id of a chat: its service and whether it is a group. The rest is a number or an address. */
const formOf = (id: string): string => /^[A-Za-z]+;[+-];/.exec(id)?.[0] ?? 'other';

const percent = (part: number, whole: number): number => (whole === 0 ? 0 : Math.round((100 * part) / whole));
