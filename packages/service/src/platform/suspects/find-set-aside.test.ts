import { expect, it } from 'vitest';

import { messagesSetAside } from './find-set-aside.ts';

const AT = Date.parse('2026-11-15T09:12:00Z');

it('I10 messages that ended the service or the agent twice are an issue of their location', () => {
  const [found, ...others] = messagesSetAside([
    { kind: 'outbound', locationId: 'loc1', at: AT + 1 },
    { kind: 'inbound', locationId: 'loc1', at: AT + 1 },
    { kind: 'file', locationId: 'loc1', at: AT },
  ]);
  expect(others).toEqual([]);
  expect(found?.kind).toBe('messages_set_aside');
  expect(found?.sentence).toMatch(/^2 messages are set aside: .* 1 file is stored unexamined: /);
  expect(found?.action).toMatch(/footbridge redeliver ID/);
});
