import { activate, joinMac } from '@footbridge/testkit/mac';

import type { Attack } from './attacks.ts';

const CLAIMED = 'locOfALaterTenant';

/** Defects of licenses, devices and locations. */
export const LICENSE_DEFECTS: Readonly<Record<string, Attack>> = {
  'a Mac that claims the location of a later tenant': async (stage, cleanup) => {
    const { service } = stage;
    const { mac } = await stage.device('mac-claims-first', CLAIMED);
    const path = `/operator/locations/${CLAIMED}`;
    const pair = () => service.operator('POST', `${path}/pairing-codes`);
    return {
      async verify() {
        const owner = await service.license(1, 'later tenant');
        if ((await pair()).status !== 409) return 'a claimed location got a pairing code';
        await service.operator('PUT', path, { licenseId: owner.id });
        if (mac.isOpen && (await mac.closed).code !== 4504) return 'the claiming Mac stayed';
        const { body } = await pair();
        if (body['licenseId'] !== owner.id) return 'the code belongs to another license';
        const own = await joinMac(service.url, { licenseKey: owner.key, locationId: CLAIMED });
        cleanup.add(() => own.terminate());
        return undefined;
      },
    };
  },

  'a seat that activates one device after another': async ({ service }) => ({
    async verify() {
      const { id, key } = await service.license(1, 'one seat');
      let activated = 0;
      for (let tries = 0; tries < 300; tries++) {
        const { status, deviceToken } = await activate(service.url, { licenseKey: key });
        if (status === 201) activated++;
        const headers = { Authorization: `Bearer ${deviceToken}` };
        if (deviceToken !== undefined)
          await fetch(`${service.url}/mac/deactivate`, { method: 'POST', headers });
      }
      const { body } = await service.operator('GET', '/operator/devices');
      const own = (body['devices'] as { licenseId: string }[]).filter(({ licenseId }) => licenseId === id);
      return activated > 100 || own.length > 10
        ? `${activated} activations, ${own.length} devices are left`
        : undefined;
    },
  }),
};
