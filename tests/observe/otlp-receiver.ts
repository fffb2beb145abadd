import { createServer } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: Record<string, unknown> }[];
  readonly status?: { readonly code?: number };
}

export interface ReceivedMetric {
  readonly name: string;
  readonly unit: string;
  readonly sum?: { readonly isMonotonic: boolean; readonly dataPoints: readonly ReceivedPoint[] };
  readonly gauge?: { readonly dataPoints: readonly ReceivedPoint[] };
  readonly histogram?: {
    readonly dataPoints: readonly {
      /** 64-bit numbers may be strings in JSON. */
      readonly count: number | string;
      readonly sum: number;
      readonly bucketCounts: readonly (number | string)[];
      readonly explicitBounds: readonly number[];
    }[];
  };
}

interface ReceivedPoint {
  readonly asDouble?: number;
  readonly attributes: ReceivedSpan['attributes'];
}

interface Resource {
  readonly attributes: ReceivedSpan['attributes'];
}

export interface OtlpReceiver {
  readonly url: string;
  /** The bodies of all requests, as received. */
  readonly bodies: readonly string[];
  readonly headers: readonly IncomingHttpHeaders[];
  spans(): ReceivedSpan[];
  /** The metrics of the latest export. */
  metrics(): ReceivedMetric[];
  resources(): Resource[];
  stop(): Promise<void>;
}

/** Starts a collector that accepts OTLP over HTTP with JSON. With `hangs`, it never responds. */
export async function startOtlpReceiver({ hangs = false } = {}): Promise<OtlpReceiver> {
  const received: { path: string; body: string }[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (part: string) => (body += part));
    request.on('end', () => {
      received.push({ path: request.url ?? '', body });
      headers.push(request.headers);
      if (!hangs) response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const at = <T>(path: string): T[] =>
    received.filter((one) => one.path === path).map(({ body }) => JSON.parse(body) as T);
  interface Traces {
    resourceSpans: { resource: Resource; scopeSpans: { spans: ReceivedSpan[] }[] }[];
  }
  interface MetricsExport {
    resourceMetrics: { resource: Resource; scopeMetrics: { metrics: ReceivedMetric[] }[] }[];
  }
  const traces = () => at<Traces>('/v1/traces').flatMap(({ resourceSpans }) => resourceSpans);
  return {
    url: `http://127.0.0.1:${port}`,
    headers,
    get bodies() {
      return received.map(({ body }) => body);
    },
    spans: () => traces().flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
    metrics: () =>
      (at<MetricsExport>('/v1/metrics').at(-1)?.resourceMetrics ?? []).flatMap(({ scopeMetrics }) =>
        scopeMetrics.flatMap(({ metrics }) => metrics),
      ),
    resources: () => traces().map(({ resource }) => resource),
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
