import type { Log } from '@footbridge/runtime/log';

interface Result {
  readonly code: number;
  readonly error?: Error;
}

interface Exporter<Items> {
  export(items: Items, done: (result: Result) => void): void;
}

const SUCCESS = 0;

/** Logs once when the collector stops accepting exports, and once when it accepts them again. */
export class ExportReport {
  readonly #signal: 'traces' | 'metrics';
  readonly #log: Log;
  #isFailing = false;

  constructor(signal: 'traces' | 'metrics', log: Log) {
    this.#signal = signal;
    this.#log = log;
  }

  /** Patches `export` so that each result is also reported here. Returns the same exporter. */
  around<Items, E extends Exporter<Items>>(exporter: E & Exporter<Items>): E {
    const send = exporter.export.bind(exporter);
    exporter.export = (items, done) =>
      send(items, (result) => {
        this.#note(result);
        done(result);
      });
    return exporter;
  }

  #note({ code, error }: Result): void {
    const isFailing = code !== SUCCESS;
    if (isFailing === this.#isFailing) return;
    this.#isFailing = isFailing;
    const signal = this.#signal;
    if (isFailing)
      this.#log.warn(
        { event: 'telemetry.export_failed', signal, reason: error?.name },
        'telemetry export failed, messages are not affected',
      );
    else this.#log.info({ event: 'telemetry.exported', signal }, 'telemetry export recovered');
  }
}
