import { describe, expect, it } from 'vitest';

import { licenseFaults, renderNotices, runtimePackages } from './third-party-notices.ts';

const LOCK = {
  packages: {
    '': { version: '0.1.0', license: 'MIT' },
    'packages/service': { version: '0.1.0', license: 'MIT' },
    'node_modules/@footbridge/service': { link: true },
    'node_modules/zeta': { version: '2.0.0', license: 'ISC' },
    'node_modules/alpha': { version: '1.0.0', license: 'MIT' },
    'node_modules/zeta/node_modules/alpha': { version: '0.9.0', license: 'MIT' },
    'node_modules/alpha-linux-x64': { version: '1.0.0', license: 'MIT', optional: true },
    'node_modules/tester': { version: '1.0.0', license: 'GPL-3.0', dev: true },
  },
};

describe('the licenses of runtime packages', () => {
  it('runtime packages are those of the lock file that are not for development, nested ones included', () => {
    expect(runtimePackages(LOCK).map(({ name, version }) => `${name} ${version}`)).toEqual([
      'alpha 0.9.0',
      'alpha 1.0.0',
      'alpha-linux-x64 1.0.0',
      'zeta 2.0.0',
    ]);
  });

  it('a license outside the allowlist, a missing one and an exception used by another package are faults', () => {
    const one = (name: string, license: string) => ({
      path: `node_modules/${name}`,
      name,
      version: '1.0.0',
      license,
      optional: false,
    });
    expect(licenseFaults([one('good', 'MIT'), one('libheif-js', 'LGPL-3.0')])).toEqual([]);
    expect(
      licenseFaults([one('strict', 'GPL-3.0'), one('silent', ''), one('other', 'LGPL-3.0')]),
    ).toHaveLength(3);
  });

  it('the page contains each license text once, with all packages that share it', () => {
    const page = renderNotices(runtimePackages(LOCK), (path) =>
      path.endsWith('alpha') ? 'MIT TEXT' : 'ISC',
    );
    expect(page.match(/MIT TEXT/g)).toHaveLength(1);
    expect(page).toContain('alpha 0.9.0\nalpha 1.0.0\n----');
  });

  it('the page does not depend on which optional packages are installed', () => {
    renderNotices(runtimePackages(LOCK), (path) => {
      expect(path).not.toContain('linux-x64');
      return 'TEXT';
    });
  });

  it('a package without a license file is listed as such', () => {
    const page = renderNotices(runtimePackages(LOCK), () => undefined);
    expect(page.split('Without a license text here')[1]).toContain('zeta 2.0.0');
  });
});
