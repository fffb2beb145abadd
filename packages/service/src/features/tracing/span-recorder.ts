import { ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, trace } from '@opentelemetry/api';
import type { HrTime, TracerProvider } from '@opentelemetry/api';
import type { IdGenerator } from '@opentelemetry/sdk-trace';

import type { FinishedSpan } from './trace-messages.ts';

interface ClosableProvider extends TracerProvider {
  shutdown(): Promise<void>;
}

const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT, consumer: SpanKind.CONSUMER } as const;

/** Returns the ids of the span being recorded instead of random ones. */
class GivenIds implements IdGenerator {
  span: Pick<FinishedSpan, 'traceId' | 'spanId'> = { traceId: '', spanId: '' };

  generateTraceId(): string {
    return this.span.traceId;
  }

  generateSpanId(): string {
    return this.span.spanId;
  }
}

/** Records spans with their own ids and times. The provider must use the given id generator and sample every span. */
export function createSpanRecorder(provide: (ids: IdGenerator) => ClosableProvider): {
  record(span: FinishedSpan): void;
  shutdown(): Promise<void>;
} {
  const ids = new GivenIds();
  const provider = provide(ids);
  const tracer = provider.getTracer('footbridge');
  return {
    record(span) {
      const { name, kind, traceId, parentId, from, until, attributes, failed } = span;
      ids.span = span;
      const parent =
        parentId === undefined
          ? ROOT_CONTEXT
          : trace.setSpanContext(ROOT_CONTEXT, {
              traceId,
              spanId: parentId,
              traceFlags: TraceFlags.SAMPLED,
              isRemote: true,
            });
      const options = { kind: KINDS[kind], startTime: timeOf(from), attributes };
      const started = tracer.startSpan(name, options, parent);
      if (failed) started.setStatus({ code: SpanStatusCode.ERROR });
      started.end(timeOf(Math.max(from, until)));
    },
    shutdown: () => provider.shutdown(),
  };
}

/** Returns seconds and nanoseconds: the API would interpret a small plain number as a `performance.now()` time. */
export const timeOf = (ms: number): HrTime => [Math.floor(ms / 1000), Math.round((ms % 1000) * 1e6)];
