import { MessageTraces } from '../features/tracing/trace-messages.ts';
import type { HandledWebhook } from '../features/tracing/trace-messages.ts';
import type { JournalFeed } from '../relay/journal/journal.ts';
import type { BridgeContext } from './context.ts';

/** How long a stopping node waits for the collector. */
const CLOSE_MS = 1000;

export interface TelemetrySide {
  /** Called for each webhook. Undefined when traces are not exported. */
  readonly traceWebhook: ((handled: HandledWebhook) => void) | undefined;
  readonly closeWithinMs: number;
}

/** Exports traces and metrics if the settings name an endpoint. */
export async function composeTelemetry(
  { config, clock, log, life, metrics, node }: BridgeContext,
  journal: Pick<JournalFeed, 'listen'>,
  version: string,
): Promise<TelemetrySide> {
  const { telemetry } = config;
  if (telemetry.traces === undefined && telemetry.metrics === undefined)
    return { traceWebhook: undefined, closeWithinMs: 0 };
  // Loaded on demand, because the SDK costs startup time and memory.
  const { startTelemetry } = await import('../features/tracing/start-telemetry.ts');
  const started = startTelemetry({
    config: telemetry,
    version,
    node,
    metrics,
    log,
    closeWithinMs: CLOSE_MS,
  });
  life.add('telemetry', () => started.close());
  if (started.traces === undefined) return { traceWebhook: undefined, closeWithinMs: CLOSE_MS };
  const traces = new MessageTraces({ ...started.traces, now: () => clock.now() });
  life.add(
    'traces',
    journal.listen((event) => traces.step(event)),
  );
  return { traceWebhook: (handled) => traces.handled(handled), closeWithinMs: CLOSE_MS };
}
