import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { createCleanup } from '@footbridge/testkit/cleanup';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { GOOD, LOCATION, PHONE, TestBridge } from '../contract/test-bridge.ts';
import { startOtlpReceiver } from './otlp-receiver.ts';
import type { OtlpReceiver, ReceivedSpan } from './otlp-receiver.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';
const SAMPLED = { traceparent: `00-${TRACE}-${SPAN}-01` };
const NOT_SAMPLED = { traceparent: `00-${TRACE}-${SPAN}-00` };
const TEXT = 'A very private text';

async function start(env: Record<string, string> = {}, receiver?: OtlpReceiver) {
  const collector = receiver ?? (await startOtlpReceiver());
  cleanup.add(() => collector.stop());
  const bridge = await TestBridge.start({
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_METRICS_EXPORTER: 'none', ...env },
  });
  cleanup.add(() => bridge.stop());
  bridge.crm.addContact({ locationId: LOCATION, phone: PHONE });
  const mac = await bridge.mac();
  return { bridge, mac, collector };
}

type Started = Awaited<ReturnType<typeof start>>;

/** Sends a message to the Mac and reports its result. Returns the frame. */
async function deliver({ bridge, mac }: Started, headers: Record<string, string> = {}) {
  const messageId = bridge.crm.newMessage(LOCATION);
  const { status } = await bridge.post({ ...GOOD, message: TEXT, messageId }, { headers });
  expect(status).toBe(200);
  const frame = await mac.nextFrame('send');
  await until(() => bridge.crm.statusesOf(messageId).length === 1);
  await mac.ack(mac.status({ requestId: frame.requestId, messageId, status: 'delivered' }));
  return frame;
}

const attributesOf = ({ attributes }: Pick<ReceivedSpan, 'attributes'>) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

describe('traces', () => {
  it('show an outbound message from the webhook through the Mac to the CRM in the trace of the caller', async () => {
    const started = await start({ OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20secret-of-collector' });
    const { bridge, collector } = started;
    const { requestId, traceparent } = await deliver(started, SAMPLED);
    expect(traceparent).toBe(SAMPLED.traceparent);
    await bridge.close();
    const spans = collector.spans();
    expect(spans.map(({ name }) => name).toSorted()).toEqual([
      'CRM status delivered',
      'CRM status pending',
      'Mac',
      'POST /crm/webhook',
    ]);
    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([TRACE]));
    const webhook = spans.find(({ name }) => name.startsWith('POST'));
    expect(webhook?.parentSpanId).toBe(SPAN);
    for (const span of spans) {
      if (span !== webhook) expect(span.parentSpanId).toBe(webhook?.spanId);
      expect(BigInt(span.endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(span.startTimeUnixNano));
      expect(attributesOf(span)['footbridge.request_id']).toBe(requestId);
    }
    expect(attributesOf(spans.find(({ name }) => name === 'Mac') ?? { attributes: [] })).toEqual({
      'footbridge.request_id': requestId,
      'footbridge.location_id': LOCATION,
      'footbridge.kind': 'text',
      'footbridge.outcome': 'delivered',
    });
    expect(collector.headers[0]?.authorization).toBe('Bearer secret-of-collector');
    expect(bridge.bridge.logs.join('\n')).not.toContain('secret-of-collector');
  });

  it('have the request id as their trace id without a caller, and no private data', async () => {
    const started = await start({ OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test%20bed' });
    const { bridge, mac, collector } = started;
    const { requestId } = await deliver(started, { traceparent: 'not a traceparent' });
    await mac.ack(mac.received({ sender: PHONE, text: TEXT }));
    await bridge.close();
    const spans = collector.spans();
    const outbound = spans.filter(({ traceId }) => traceId === requestId.replaceAll('-', ''));
    expect(outbound).toHaveLength(4);
    expect(outbound.find(({ name }) => name.startsWith('POST'))?.parentSpanId ?? '').toBe('');

    const inbound = spans.filter((span) => !outbound.includes(span));
    const root = inbound.find(({ name }) => name === 'inbound message');
    expect(inbound.map(({ name }) => name).toSorted()).toEqual([
      'CRM contact',
      'CRM message',
      'inbound message',
    ]);
    for (const span of inbound) expect(span.traceId).toBe(root?.traceId);
    for (const span of inbound.filter((one) => one !== root)) expect(span.parentSpanId).toBe(root?.spanId);

    const resource = attributesOf(collector.resources()[0] ?? { attributes: [] });
    expect(resource).toMatchObject({
      'service.name': 'footbridge',
      'deployment.environment.name': 'test bed',
    });
    const sent = collector.bodies.join('\n');
    for (const secret of [TEXT, PHONE, PHONE.slice(1), GOOD.contactId]) expect(sent).not.toContain(secret);
  });

  it('show a failed message as an error, with its code', async () => {
    const started = await start();
    const { bridge, mac, collector } = started;
    const messageId = bridge.crm.newMessage(LOCATION);
    await bridge.post({ ...GOOD, messageId });
    const { requestId } = await mac.nextFrame('send');
    const error = { code: 'IMESSAGE_ERROR', message: TEXT };
    await mac.ack(mac.status({ requestId, messageId, status: 'failed', error }));
    await bridge.close();
    const span = collector.spans().find(({ name }) => name === 'Mac');
    expect(span?.status?.code).toBe(2);
    expect(attributesOf(span ?? { attributes: [] })).toMatchObject({
      'footbridge.outcome': 'failed',
      'footbridge.code': 'IMESSAGE_ERROR',
    });
    expect(collector.bodies.join('\n')).not.toContain(TEXT);
  });

  it('are not started by a request without a valid signature', async () => {
    const { bridge, collector } = await start();
    const responses = await Promise.all([
      bridge.post(GOOD, { unsigned: true, headers: SAMPLED }),
      bridge.fetch({ method: 'GET', headers: SAMPLED }),
      bridge.fetch({ method: 'POST', headers: { ...SAMPLED, 'Content-Encoding': 'gzip' }, body: '{}' }),
      bridge.fetch({ method: 'POST', headers: SAMPLED, body: 'x'.repeat(1_100_000) }),
      bridge.fetch({
        method: 'POST',
        headers: { ...SAMPLED, 'Content-Type': 'application/json' },
        body: 'not JSON',
      }),
    ]);
    expect(responses.map(({ status }) => status)).toEqual([401, 405, 415, 413, 400]);
    await bridge.close();
    expect(collector.spans()).toEqual([]);
  });

  it.each([
    ['always_off', '1', SAMPLED, 0],
    ['always_on', '0', NOT_SAMPLED, 4],
    ['traceidratio', '0', SAMPLED, 0],
    ['traceidratio', '1', NOT_SAMPLED, 4],
    ['parentbased_always_on', '0', NOT_SAMPLED, 0],
    ['parentbased_traceidratio', '0', SAMPLED, 4],
    ['parentbased_traceidratio', '0', {}, 0],
  ])(
    'with the sampler %s, the ratio %s and the caller %j have %i spans',
    async (sampler, share, headers, spans) => {
      const started = await start({ OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: share });
      await deliver(started, headers);
      await started.bridge.close();
      expect(started.collector.spans()).toHaveLength(spans);
    },
  );
});

describe('metrics over OTLP', () => {
  it('have the names and values of the Prometheus metrics', async () => {
    const started = await start({
      OTEL_TRACES_EXPORTER: 'none',
      OTEL_METRICS_EXPORTER: 'otlp',
      OTEL_METRIC_EXPORT_INTERVAL: '100',
    });
    const { collector, bridge } = started;
    const { traceparent } = await deliver(started, SAMPLED);
    expect(traceparent).toBeUndefined();
    const metric = (name: string) => collector.metrics().find((one) => one.name === name);
    await until(() => metric('footbridge_webhook_requests_total')?.sum?.dataPoints[0]?.asDouble === 1);
    const requests = metric('footbridge_webhook_requests_total')?.sum;
    expect(requests?.isMonotonic).toBe(true);
    expect(attributesOf(requests?.dataPoints[0] ?? { attributes: [] })).toEqual({
      path: '/crm/webhook',
      status: '200',
      code: '',
    });
    expect(metric('footbridge_macs_bound')?.gauge?.dataPoints[0]?.asDouble).toBe(1);
    const duration = metric('footbridge_webhook_duration_seconds');
    expect(duration?.unit).toBe('s');
    const [point] = duration?.histogram?.dataPoints ?? [];
    expect(Number(point?.count)).toBe(1);
    expect(point?.explicitBounds).toHaveLength(13);
    expect(point?.bucketCounts.map(Number).reduce((sum, count) => sum + count, 0)).toBe(1);
    expect(point?.sum).toBe(await bridge.metric('footbridge_webhook_duration_seconds_sum'));
    expect(collector.spans()).toEqual([]);
  });
});

describe('a collector that fails', () => {
  it.each(['is down', 'hangs'])('has no effect on messages when it %s', async (how) => {
    const receiver = await startOtlpReceiver({ hangs: true });
    if (how === 'is down') await receiver.stop();
    const env = { OTEL_METRICS_EXPORTER: 'otlp', OTEL_METRIC_EXPORT_INTERVAL: '100' };
    const started = await start(env, receiver);
    const { bridge } = started;
    await deliver(started);
    if (how === 'is down')
      await until(() => bridge.bridge.logs.some((line) => line.includes('telemetry.export_failed')));
    await deliver(started);
    const since = performance.now();
    await bridge.close();
    expect(performance.now() - since).toBeLessThan(20_000);
  });
});

it('only features/tracing imports OpenTelemetry, and it is loaded on demand', () => {
  const source = join(import.meta.dirname, '../../packages/service/src');
  const files = globSync('**/*.ts', { cwd: source }).map((file) => ({
    file,
    text: readFileSync(join(source, file), 'utf8'),
  }));
  const importing = files.filter(({ text }) => /from '@opentelemetry\//.test(text)).map(({ file }) => file);
  expect(importing.filter((file) => !file.startsWith('features/tracing/'))).toEqual([]);
  const loading = files.filter(({ text }) =>
    /^import (?!type)[^;]*from '[^']*\/start-telemetry\.ts'/m.test(text),
  );
  expect(loading.map(({ file }) => file)).toEqual([]);
  expect(importing.length).toBeGreaterThan(0);
});
