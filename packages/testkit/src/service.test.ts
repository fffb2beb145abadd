import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startService } from './service.ts';
import type { Service } from './service.ts';

const health = async (url: string) => (await fetch(`${url}/health`)).status;

describe('the service as a process', () => {
  let service: Service;

  beforeAll(async () => {
    // Of the environment of the test nothing reaches it, or it would not start.
    vi.stubEnv('PORT', 'nonsense');
    service = await startService();
    vi.unstubAllEnvs();
  });
  afterAll(() => service.stop());

  it('is ready when started', async () => {
    expect(await health(service.url)).toBe(200);
    expect((await service.operator('GET', '/livez')).status).toBe(200);
    expect(await service.license(3)).toMatchObject({ id: expect.any(String), key: expect.any(String) });
    expect(await service.logged('ready', 1)).toMatchObject({ url: service.url });
  });

  it('freezes and thaws', async () => {
    service.pause();
    const answer = health(service.url);
    const silence = new Promise((resolve) => setTimeout(resolve, 200, 'silence'));
    expect(await Promise.race([answer, silence])).toBe('silence');
    service.resume();
    expect(await answer).toBe(200);
  });

  it('comes back on the same ports, polite or killed, with its log kept', async () => {
    const { url, operatorUrl } = service;
    const stopping = service.logsNext('stopping');
    await service.restart();
    expect(await stopping).toMatchObject({ signal: 'SIGTERM' });
    expect([service.url, service.operatorUrl]).toEqual([url, operatorUrl]);
    await service.kill9();
    await expect(health(url)).rejects.toThrow('fetch failed');
    await service.start();
    expect(await health(url)).toBe(200);
    expect(service.logs.filter((line) => line.msg === 'ready')).toHaveLength(3);
  });

  it('is gone with its data when stopped', async () => {
    await service.stop();
    await expect(health(service.url)).rejects.toThrow('fetch failed');
    expect(existsSync(service.dataDir)).toBe(false);
  });

  it('that refuses a setting fails the start with its words', async () => {
    await expect(startService({ env: { PORT: 'nonsense' } })).rejects.toThrow(/before "ready".*PORT/s);
  });
});
