import { existsSync } from 'node:fs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { startService } from './service.ts';
import { undoList } from './undo.ts';

const undo = undoList();
afterEach(async () => {
  vi.unstubAllEnvs();
  await undo.run();
});

const health = async (url: string) => (await fetch(`${url}/health`)).status;

describe('the service as a process', () => {
  it('is ready when started, and gone with its data when stopped', async () => {
    const service = await startService();
    undo.add(() => service.stop());
    expect(await health(service.url)).toBe(200);
    expect((await service.operator('GET', '/livez')).status).toBe(200);
    expect(service.logs.some((line) => line.msg === 'ready')).toBe(true);
    await service.stop();
    await expect(health(service.url)).rejects.toThrow('fetch failed');
    expect(existsSync(service.dataDir)).toBe(false);
  });

  it('comes back on the same ports, polite or killed, with its log kept', async () => {
    const service = await startService();
    undo.add(() => service.stop());
    const { url, operatorUrl } = service;
    await service.restart();
    expect([service.url, service.operatorUrl]).toEqual([url, operatorUrl]);
    await service.kill9();
    await expect(health(url)).rejects.toThrow('fetch failed');
    await service.start();
    expect(await health(url)).toBe(200);
    expect(service.logs.filter((line) => line.msg === 'ready')).toHaveLength(3);
  });

  it('freezes and thaws', async () => {
    const service = await startService();
    undo.add(() => service.stop());
    service.pause();
    const answer = health(service.url);
    expect(await Promise.race([answer, new Promise((resolve) => setTimeout(resolve, 200, 'silence'))])).toBe(
      'silence',
    );
    service.resume();
    expect(await answer).toBe(200);
    await service.logged('ready', 1);
    const stopping = service.logsNext('stopping');
    await service.halt();
    expect(await stopping).toMatchObject({ signal: 'SIGTERM' });
  });

  it('takes its settings from the test alone, and a refused one fails the start with its words', async () => {
    vi.stubEnv('PORT', 'inherited nonsense');
    const service = await startService();
    undo.add(() => service.stop());
    await expect(startService({ env: { PORT: 'nonsense' } })).rejects.toThrow('PORT');
  });
});
