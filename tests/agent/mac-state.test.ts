import { rmSync, writeFileSync } from 'node:fs';

import { createCleanup } from '@footbridge/testkit/cleanup';
import { startSimulatedMacos } from '@footbridge/testkit/macos';
import { startService } from '@footbridge/testkit/service';
import { until } from '@footbridge/testkit/until';
import { afterEach, expect, it } from 'vitest';

import { MacAgent } from './mac-agent.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

/** What the operator sees of the permissions and of Messages. */
interface State {
  readonly permissions: { readonly fullDisk: string };
  readonly messages: { readonly signedIn?: boolean };
}

it('M8 the operator sees that Full Disk Access was withdrawn, that Messages is signed out, and that the store was replaced', async () => {
  const service = await startService();
  cleanup.add(() => service.stop());
  const macos = await startSimulatedMacos();
  cleanup.add(() => macos.stop());
  const { key } = await service.license();
  const agent = new MacAgent({ url: service.url, macos, env: { FOOTBRIDGE_LICENSE: key }, speed: 5 });
  cleanup.add(() => agent.stop());
  await agent.start();

  const state = async (): Promise<State | undefined> => {
    const { body } = await service.operator('GET', '/operator/locations');
    const [location] = body['locations'] as { connected: { state: State | null } | null }[];
    return location?.connected?.state ?? undefined;
  };
  /** Waits until the operator sees this. */
  const shows = async (fullDisk: string, signedIn: boolean | undefined): Promise<void> => {
    const isShown = async (): Promise<boolean> => {
      const seen = await state();
      return seen?.permissions.fullDisk === fullDisk && seen.messages.signedIn === signedIn;
    };
    expect(await until(isShown, { every: 100, what: `Full Disk Access ${fullDisk}` })).toBe(true);
  };

  await shows('granted', undefined);
  await macos.messages.configurePrivacy({ fullDisk: false });
  await shows('denied', undefined);
  await macos.messages.configurePrivacy({ fullDisk: true });
  await shows('granted', undefined);
  await macos.messages.remove();
  await shows('unknown', undefined);
  // A store without tables: they are created when a person signs in.
  writeFileSync(macos.storePath, '');
  await shows('granted', false);
  rmSync(macos.storePath);
  await macos.messages.rebuild();
  await shows('granted', undefined);
});
