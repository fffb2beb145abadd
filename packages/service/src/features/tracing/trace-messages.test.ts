import { newRequestId } from '@footbridge/protocol/ids';
import { describe, expect, it } from 'vitest';

import type { JournalEvent, Recorded, StepName } from '../../relay/journal/journal.ts';
import { MessageTraces } from './trace-messages.ts';
import type { FinishedSpan } from './trace-messages.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const CALLER = `00-${TRACE}-b7ad6b7169203331-01`;

/** A node whose clock advances by one with each step. */
function node(isSampled = true) {
  const spans: FinishedSpan[] = [];
  const traces = new MessageTraces({
    isSampled: () => isSampled,
    record: (span) => spans.push(span),
    now: () => 100,
  });
  let at = 0;
  const step = (messageId: string, name: StepName, recorded: Recorded = {}) => {
    const event: JournalEvent = { id: '1', at: ++at, messageId, step: name, recorded, message: undefined };
    traces.step(event);
  };
  return { traces, spans, step };
}

const brief = ({ name, from, until, failed }: FinishedSpan) => [name, from, until, failed];

describe('the trace of a message', () => {
  it('is continued by the node that holds the Mac', () => {
    const requestId = newRequestId();
    const first = node();
    first.traces.handled({
      path: '/crm/webhook',
      requestId,
      isSigned: true,
      traceparent: CALLER,
      status: 200,
      code: '',
      ms: 2.5,
    });
    const second = node();
    second.step(requestId, 'written', { detail: { traceparent: CALLER } });
    second.step(requestId, 'status_sent', { detail: { status: 'pending' } });
    second.step(requestId, 'mac_reported', { detail: { status: 'delivered' } });
    second.step(requestId, 'crm_refused', { detail: { status: 'delivered', http: 500, reason: 'private' } });
    expect(first.spans[0]).toMatchObject({
      traceId: TRACE,
      parentId: 'b7ad6b7169203331',
      from: 97.5,
      until: 100,
    });
    expect(second.spans.map(brief)).toEqual([
      ['CRM status pending', 1, 2, false],
      ['Mac', 1, 3, false],
      ['CRM status delivered', 3, 4, true],
    ]);
    for (const span of second.spans)
      expect(span).toMatchObject({ traceId: TRACE, parentId: first.spans[0]?.spanId });
    expect(JSON.stringify(second.spans)).not.toContain('private');
  });

  it('has the remaining spans after a restart', () => {
    const { spans, step } = node();
    const requestId = newRequestId();
    step(requestId, 'mac_reported', { code: 'TIMEOUT', detail: { status: 'failed' } });
    step(requestId, 'status_sent', { detail: { status: 'failed' } });
    expect(spans.map(brief)).toEqual([
      ['Mac', 1, 1, true],
      ['CRM status failed', 1, 2, false],
    ]);
    expect(spans[0]?.traceId).toBe(requestId.replaceAll('-', ''));
  });

  it('ends when the message is given up', () => {
    const { spans, step } = node();
    const requestId = newRequestId();
    step(requestId, 'written');
    step(requestId, 'not_confirmed', { detail: { reason: 'expired' } });
    expect(spans.map(brief)).toEqual([['Mac', 1, 2, true]]);
  });

  it('is not started by a later step when the caller does not sample it', () => {
    const spans: FinishedSpan[] = [];
    const traces = new MessageTraces({
      isSampled: (_traceId, caller) => caller?.isSampled ?? true,
      record: (span) => spans.push(span),
      now: () => 100,
    });
    const messageId = newRequestId();
    const event = { id: '1', at: 1, messageId, message: undefined };
    const detail = { traceparent: CALLER.replace(/01$/, '00') };
    traces.step({ ...event, step: 'written', recorded: { detail } });
    traces.step({ ...event, step: 'mac_reported', recorded: { detail: { status: 'delivered' } } });
    expect(spans).toEqual([]);
  });

  it('does not exist for a message that is not sampled, or whose id a Mac made up', () => {
    const unsampled = node(false);
    unsampled.step(newRequestId(), 'written');
    const { spans, step } = node();
    step('made-up', 'mac_reported', { detail: { status: 'delivered' } });
    expect([...unsampled.spans, ...spans]).toEqual([]);
  });
});
