import { Service } from '@footbridge/testkit/service';

import type { Attack } from './attacks.ts';

/** What other processes, the supervisor and the machine do to a service. */
export const PROCESS_DEFECTS: Readonly<Record<string, Attack>> = {
  'a second service on the same DATA_DIR': async ({ service }, cleanup) => {
    const second = new Service({ dataDir: service.dataDir, readyWithin: 30_000 });
    cleanup.add(() => second.stop());
    const hasStarted = await second.start().then(
      () => true,
      () => false,
    );
    const names = second.logs.some(({ msg }) => msg.includes(`process ${service.pid}`));
    return { verify: async () => (hasStarted || !names ? 'the second service is not refused' : undefined) };
  },
};
