import { createCleanup } from '@footbridge/testkit/cleanup';
import { startSimulatedMacos } from '@footbridge/testkit/macos';
import { afterEach, describe, expect, it } from 'vitest';

import { MacAgent } from './mac-agent.ts';
import { ScriptedService } from './scripted-service.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

describe('M4 kill -9 of the agent on a Mac during an outbound text', () => {
  // The failpoint, and the status after the restart.
  it.each([
    ['accept.after', 'delivered'],
    ['job.begun', 'delivered'],
    ['step.before', 'delivered'],
    ['step.begun', 'failed'],
    ['step.sent', 'delivered'],
    ['step.recorded', 'delivered'],
    ['job.performed', 'delivered'],
    ['frame.sent', 'delivered'],
  ] as const)(
    'M4 at %s reports %s after the restart, and the person gets it once',
    async (failpoint, status) => {
      const service = await new ScriptedService().start();
      cleanup.add(() => service.stop());
      const macos = await startSimulatedMacos();
      cleanup.add(() => macos.stop());
      const dying = new MacAgent({
        url: service.url,
        macos,
        env: { FAILPOINTS: `${failpoint}:kill` },
      });
      cleanup.add(() => dying.stop());
      await dying.start();
      await service.registered();
      service.autoAck = false;
      const frame = service.send({ messageId: 'precious', message: 'Precious' });
      expect((await dying.exited).signal).toBe('SIGKILL');
      service.autoAck = true;
      const agent = new MacAgent({ url: service.url, macos, env: {}, dataDir: dying.dataDir });
      cleanup.add(() => agent.stop());
      await agent.start();
      await service.registered(2);
      const first = await service.statusOf(frame.requestId);
      expect(first.status).toBe(status);
      // The send had certainly not begun, so that a repeat is safe.
      if (status === 'failed') expect(first.error?.message).toContain('Nothing was sent');
      const repeat = service.send({ ...frame, requestId: crypto.randomUUID() });
      expect(await service.statusOf(repeat.requestId)).toMatchObject({ status: 'delivered' });
      expect((await macos.messages.sent()).map(({ text }) => text)).toEqual(['Precious']);
    },
  );
});
