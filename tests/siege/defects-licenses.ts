import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { activate, connectMac, joinMac } from '@footbridge/testkit/mac';

import { repeat } from './attacks.ts';
import type { Attack } from './attacks.ts';
import { startStage } from './stage.ts';

const CLAIMED = 'locOfALaterTenant';
const DEVICES = 20_000;
const SEAT_MB = 8;

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

  'lists of 20,000 devices': async (_stage, cleanup) => {
    const stage = await startStage(cleanup);
    const { service } = stage;
    const { id } = await service.license(1, 'many devices');
    const idle = await stage.memory();
    const database = new DatabaseSync(join(service.dataDir, 'footbridge.sqlite'), { timeout: 5000 });
    database
      .prepare(
        `with recursive n (i) as (select 1 union all select i + 1 from n where i < ?)
          insert into devices (id, license_id, device_id, name, os_version, app_version, token_hash, status, activated_at, last_seen_at, updated_at)
          select 'dev_' || i, ?, 'mac-' || i, 'Mac ' || i, '26', '1', 'hash ' || i, 'deactivated', i, i, i from n`,
      )
      .run(DEVICES, id);
    database.close();
    const sizes = new Set<number>();
    const seen = new Set<string>();
    let next = '';
    // As often as ten consoles.
    repeat(cleanup, 2, async () => {
      const { body } = await service.operator('GET', `/operator/devices?${next}`);
      const devices = body['devices'] as { id: string }[];
      sizes.add(devices.length);
      for (const device of devices) seen.add(device.id);
      const after = body['next'];
      next = typeof after === 'string' ? `after=${encodeURIComponent(after)}` : '';
    });
    return {
      on: stage,
      idle,
      async verify() {
        const largest = Math.max(...sizes);
        return largest > 1000 || seen.size < 2000
          ? `a page has ${largest} devices, ${seen.size} were read`
          : undefined;
      },
    };
  },

  'a seat that fills the quotas of several locations': async (_stage, cleanup) => {
    const stage = await startStage(cleanup, async () => ({ ASSET_QUOTA_SEAT_MB: String(SEAT_MB) }));
    const { service } = stage;
    const { id, key } = await service.license(1, 'one seat');
    return {
      on: stage,
      async verify() {
        const { deviceToken = '' } = await activate(service.url, { licenseKey: key, deviceId: 'mac-fills' });
        const statuses = new Set<number>();
        for (let location = 0; location < 4; location++) {
          const mac = await connectMac(service.url, { token: deviceToken });
          await mac.register(`locFilled${location}`);
          for (let file = 0; file < 2; file++) {
            const headers = { Authorization: `Bearer ${deviceToken}` };
            const body = new Uint8Array(2_000_000);
            statuses.add(
              (await fetch(`${service.url}/mac/assets`, { method: 'POST', headers, body })).status,
            );
          }
          await mac.close();
        }
        const { body } = await service.operator('GET', `/operator/assets?licenseId=${id}`);
        const stored = Number(body['bytes']) / 1_000_000;
        return stored > SEAT_MB || !statuses.has(507) ? `${stored} MB stored` : undefined;
      },
    };
  },
};
