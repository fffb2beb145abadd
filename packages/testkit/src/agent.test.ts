import { existsSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { startAgent } from './agent.ts';
import type { Agent } from './agent.ts';
import { freePort } from './ports.ts';
import { createCleanup } from './cleanup.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

/** Starts an agent without a service: it keeps reconnecting, and its simulated Messages works. */
async function startOfflineAgent(macos = '26.1'): Promise<Agent> {
  const url = `http://127.0.0.1:${await freePort()}`;
  const agent = await startAgent({ url, license: 'FB-TEST-LICENSE', location: 'LocA', macos });
  cleanup.add(() => agent.stop());
  return agent;
}

describe('the agent in a child process', () => {
  it('lets tests play the people on the other side', async () => {
    const agent = await startOfflineAgent('15.6');
    const { guid, chatId } = await agent.say('+15550001111', { text: 'hello' });
    await agent.react('+15550001111', { targetGuid: guid, kind: 'classic', action: 'add', type: 'love' });
    const state = await agent.simulatorState();
    expect(state.macos).toBe('15.6');
    const message = state.chats
      .find((chat) => chat.id === chatId)
      ?.messages.find((entry) => entry.guid === guid);
    expect(message).toMatchObject({ from: '+15550001111', text: 'hello', reactions: [{ kind: 'classic' }] });
    const group = await agent.group(['+15550001111', '+15550002222']);
    expect(group.chatId).not.toBe(chatId);
    await agent.change({ macos: '26.2' });
    expect((await agent.simulatorState()).macos).toBe('26.2');
    await expect(agent.say('+15550001111', { chatId: 987_654, text: 'x' })).rejects.toThrow(
      /failed with 4\d\d/,
    );
  });

  it('can be killed and restarted with its data, and stop removes its data', async () => {
    const agent = await startOfflineAgent();
    const first = agent.pid;
    await agent.kill9();
    expect(await agent.exited).toMatchObject({ signal: 'SIGKILL' });
    await agent.start();
    expect(agent.pid).not.toBe(first);
    expect(agent.logs.filter(({ msg }) => msg === 'simulator ready')).toHaveLength(2);
    await agent.stop();
    expect(existsSync(agent.dataDir)).toBe(false);
  });
});
