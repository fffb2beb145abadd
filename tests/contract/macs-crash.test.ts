import { activate } from '@footbridge/testkit/mac';
import { startService } from '@footbridge/testkit/service';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { afterEach, expect, it } from 'vitest';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

it('M7 a crash between counting the seats and taking one leaves the seat free', async () => {
  const service = await startService({ env: { FAILPOINTS: 'seat.afterCount:kill' } });
  cleanup.add(() => service.stop());
  const { key } = await service.license(1);
  await expect(activate(service.url, { licenseKey: key, deviceId: 'first-mac' })).rejects.toThrow();
  await service.restart({ FAILPOINTS: '' });
  expect(await activate(service.url, { licenseKey: key, deviceId: 'second-mac' })).toMatchObject({
    status: 201,
    body: { seats: { used: 1, max: 1 } },
  });
});
