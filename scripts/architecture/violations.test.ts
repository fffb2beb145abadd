import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { violations } from './violations.ts';

const ROOT = join(import.meta.dirname, '../..');

describe('the import table', () => {
  it('holds for the code as it is', () => {
    expect(violations(ROOT)).toEqual([]);
  });
});

describe('a broken rule is seen', () => {
  let scratch: string;

  beforeEach(() => {
    scratch = mkdtempSync(join(tmpdir(), 'footbridge-architecture-'));
    cpSync(join(ROOT, 'packages/service/src'), join(scratch, 'packages/service/src'), { recursive: true });
  });
  afterEach(() => rmSync(scratch, { recursive: true, force: true }));

  const breaks: [string, string, string][] = [
    ['an edge imports another edge', 'service/src/edges/http/broken.ts', '../mac/session.ts'],
    ['a flow imports an edge', 'service/src/flows/outbound/broken.ts', '../../edges/http/listener.ts'],
    ['a flow imports another flow', 'service/src/flows/outbound/broken.ts', '../inbound/anything.ts'],
    ['a flow names an engine', 'service/src/flows/outbound/broken.ts', '../../ports/limits/limits-memory.ts'],
    ['an edge names an engine', 'service/src/edges/http/broken.ts', '../../ports/limits/limits-memory.ts'],
    ['a port imports another port', 'service/src/ports/limits/broken.ts', '../switchboard/switchboard.ts'],
    ['a port that is no SQL engine imports sql', 'service/src/ports/limits/broken.ts', '../../sql/schema.ts'],
    ['a port names its own engine', 'service/src/ports/limits/broken.ts', './limits-memory.ts'],
    [
      'a port imports a flow',
      'service/src/ports/limits/broken.ts',
      '../../flows/outbound/receive-webhook.ts',
    ],
    ['an engine imports an edge', 'service/src/ports/limits/limits-sql.ts', '../../edges/http/listener.ts'],
    ['the log imports something of ours', 'service/src/log.ts', './errors.ts'],
    ['config imports an edge', 'service/src/config/broken.ts', '../edges/http/listener.ts'],
    ['main imports an edge', 'service/src/main.ts', './edges/http/listener.ts'],
    ['a part imports main', 'service/src/bridge.ts', './main.ts'],
    ['a file stands outside the table', 'service/src/utils/broken.ts', '../errors.ts'],
    ['the service imports the agent', 'service/src/edges/http/broken.ts', '@footbridge/agent/link'],
    ['the protocol imports the service', 'protocol/src/broken.ts', '@footbridge/service/errors'],
    ['the agent imports the service', 'agent/src/broken.ts', '@footbridge/service/errors'],
    ['media imports the service', 'media/src/broken.ts', '@footbridge/service/errors'],
    ['the agent imports media', 'agent/src/broken.ts', '@footbridge/media/sniff'],
    ['a package reaches into another by path', 'agent/src/broken.ts', '../../service/src/errors.ts'],
  ];

  it.each(breaks)('%s', (_title, file, target) => {
    const path = join(scratch, 'packages', file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `import { x } from '${target}';\nexport const y = x;\n`);
    const seen = violations(scratch);
    expect(seen.some((line) => line.startsWith(`packages/${file} → ${target}`))).toBe(true);
  });
});
