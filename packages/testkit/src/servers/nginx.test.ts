import { afterEach, describe, expect, it } from 'vitest';

import { undoList } from '../undo.ts';
import { hasNginx, startNginx } from './nginx.ts';

describe.skipIf(!(await hasNginx()))('nginx for tests', () => {
  const undo = undoList();
  afterEach(() => undo.run());

  it('serves the site it is given', async () => {
    const nginx = await startNginx((address) => `server { listen ${address}; return 200 "it is me"; }`);
    undo.add(() => nginx.stop());
    expect(await (await fetch(nginx.url)).text()).toBe('it is me');
    expect(nginx.errors).toEqual([]);
  });

  it('says why it cannot', async () => {
    await expect(startNginx(() => 'server { nonsense; }')).rejects.toThrow(/unknown directive "nonsense"/);
  });
});
