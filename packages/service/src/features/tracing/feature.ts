import { LAST_STOPS_MS } from '../../platform/host.ts';
import type { Feature } from '../../platform/host.ts';
import type { Relay } from '../../relay/relay.ts';
import type { TelemetryConfig } from './settings.ts';
import { MessageTraces } from './trace-messages.ts';

export interface TracingSettings {
  readonly telemetry: TelemetryConfig;
  readonly version: string;
}

/** Exports traces and metrics, if the settings name an endpoint. */
export const tracing: Feature<Pick<Relay, 'journal' | 'handled'>, TracingSettings> = {
  name: 'tracing',
  async start(host, relay, { telemetry, version }) {
    if (telemetry.traces === undefined && telemetry.metrics === undefined) return;
    // Loaded on demand, because the SDK costs startup time and memory.
    const { startTelemetry } = await import('./start-telemetry.ts');
    const { node, metrics, log } = host;
    const config = { config: telemetry, version, node, metrics, log, closeWithinMs: LAST_STOPS_MS };
    const started = startTelemetry(config);
    host.stopsLast('telemetry', () => started.close());
    if (started.traces === undefined) return;
    const traces = new MessageTraces({ ...started.traces, now: () => host.clock.now() });
    host.stopsLast(
      'traces',
      relay.journal.listen((event) => traces.step(event)),
    );
    relay.handled.listen((webhook) => traces.handled(webhook));
  },
};
