import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startService } from './service.ts';
import type { Service } from './service.ts';

const health = async (url: string) => (await fetch(`${url}/health`)).status;

describe('the service as a process', () => {
  let service: Service;

  beforeAll(async () => {
    // With this variable the service would not start, so it does not inherit the environment.
    vi.stubEnv('PORT', 'nonsense');
    service = await startService();
    vi.unstubAllEnvs();
  });
  afterAll(() => service.stop());

  it('is ready when startService resolves', async () => {
    expect(await health(service.url)).toBe(200);
    expect((await service.operator('GET', '/livez')).status).toBe(200);
    expect(await service.license(3)).toMatchObject({ id: expect.any(String), key: expect.any(String) });
    expect(await service.logged('ready', 1)).toMatchObject({ url: service.url });
  });

  it('does not respond while it is paused', async () => {
    service.pause();
    const response = health(service.url);
    const timeout = new Promise((resolve) => setTimeout(resolve, 200, 'timeout'));
    expect(await Promise.race([response, timeout])).toBe('timeout');
    service.resume();
    expect(await response).toBe(200);
  });

  it('keeps its ports and its log after a restart, stopped or killed', async () => {
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

  it('is stopped and its data directory removed by stop', async () => {
    await service.stop();
    await expect(health(service.url)).rejects.toThrow('fetch failed');
    expect(existsSync(service.dataDir)).toBe(false);
  });

  it('fails to start with an invalid setting, and the error contains its log', async () => {
    await expect(startService({ env: { PORT: 'nonsense' } })).rejects.toThrow(/before "ready".*PORT/s);
  });
});
