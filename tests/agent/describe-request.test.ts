import { createCleanup } from '@footbridge/testkit/cleanup';
import { afterEach, describe, expect, it } from 'vitest';

import { useCrashes } from './crashing-agent.ts';
import { describeRequest } from './describe-request.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

describe('the description of a request', () => {
  const crashingAgent = useCrashes('simulated', cleanup);

  it('shows a request that the agent had not saved when it was killed, and its repetition', async () => {
    const { service, agent, died, again } = await crashingAgent('accept.before:kill');
    const frame = service.send({ message: 'Secret' });
    await died();
    const before = describeRequest(frame.requestId, { service, agent: agent.program });
    expect(before).toContain('"job":"none"');
    expect(before).toMatch(/"sent","type":"send"/);

    await again();
    service.resendUnconfirmed(frame);
    await service.statusOf(frame.requestId);
    const after = describeRequest(frame.requestId, { service, agent: agent.program });
    expect(after).toContain('"state":"delivered"');
    expect(after).toMatch(/"disconnected".*"connected".*"sent".*"received".*"message_status"/s);
    expect(before + after).not.toContain('Secret');
  });

  it('shows a job that was interrupted', async () => {
    const { service, agent, died } = await crashingAgent('step.begun:kill');
    const { requestId } = service.send();
    await died();
    const description = describeRequest(requestId, { service, agent: agent.program });
    expect(description).toMatch(/"state":"begun","unfinished":\[\{"name":"text"/);
  });
});
