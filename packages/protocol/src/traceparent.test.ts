import { describe, expect, it } from 'vitest';

import { parseTraceParent } from './traceparent.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';
const parsed = { traceId: TRACE, spanId: SPAN };

describe('traceparent', () => {
  it.each([
    [`00-${TRACE}-${SPAN}-01`, true],
    [`00-${TRACE}-${SPAN}-00`, false],
    [`00-${TRACE}-${SPAN}-03`, true],
    [`cc-${TRACE}-${SPAN}-01-field of a later version`, true],
  ])('reads %s', (value, isSampled) => {
    expect(parseTraceParent(value)).toEqual({ ...parsed, isSampled });
  });

  it.each([
    undefined,
    ['00'],
    '',
    `ff-${TRACE}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${TRACE}-${SPAN}`,
    `cc-${TRACE}-${SPAN}-01-${'x'.repeat(100)}`,
  ])('rejects %j', (value) => {
    expect(parseTraceParent(value)).toBeUndefined();
  });
});
