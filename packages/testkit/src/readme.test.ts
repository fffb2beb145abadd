import { afterEach, expect, it } from 'vitest';
import { startCrm } from './crm.ts';
import { joinMac } from './mac.ts';
import { startService } from './service.ts';
import { createCleanup } from './cleanup.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

it('the example in the README works: from the CRM through the service to a Mac', async () => {
  const crm = await startCrm();
  cleanup.add(() => crm.stop());
  const service = await startService({ env: { CRM_HOSTNAME: crm.url, CRM_PUBLIC_KEY: crm.key.publicKey } });
  cleanup.add(() => service.stop());
  const mac = await joinMac(service.url, { licenseKey: (await service.license()).key, locationId: 'LocA' });
  cleanup.add(() => mac.terminate());

  crm.bridgeUrl = service.url;
  const sent = await crm.sendWebhook({ locationId: 'LocA', phone: '+15550001111', message: 'hello' });
  expect(sent.status).toBe(200);
  expect((await mac.nextFrame('send')).message).toBe('hello');
});
