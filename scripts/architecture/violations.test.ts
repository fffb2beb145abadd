import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { violations } from './violations.ts';

const ROOT = join(import.meta.dirname, '../..');

describe('the import rules', () => {
  it('hold for the repository', () => {
    expect(violations(ROOT)).toEqual([]);
  });
});

describe('a violation is reported', () => {
  let scratch: string;

  beforeEach(() => {
    scratch = mkdtempSync(join(tmpdir(), 'footbridge-architecture-'));
  });
  afterEach(() => rmSync(scratch, { recursive: true, force: true }));

  const cases: [string, string, string][] = [
    ['a room imports one to its right', 'service/src/relay/crm/broken.ts', '../inbound/anything.ts'],
    ['a room imports a feature', 'service/src/relay/webhook/broken.ts', '../../features/reach/anything.ts'],
    ['a feature imports another', 'service/src/features/reach/broken.ts', '../capture/anything.ts'],
    ['the platform imports a room', 'service/src/platform/http/broken.ts', '../../relay/keys/anything.ts'],
    ['a feature imports the root', 'service/src/features/reach/broken.ts', '../../compose.ts'],
    ['a rule does I/O', 'service/src/relay/inbound/broken.ts', 'node:fs/promises'],
    ['a rule imports the HTTP server', 'service/src/features/reach/broken.ts', 'fastify'],
    ['a rule imports the database', 'service/src/relay/status/broken.ts', 'kysely'],
    ['a rule imports the HTTP client', 'service/src/relay/crm/broken.ts', 'undici'],
    ['a rule imports the WebSocket', 'service/src/relay/macs/broken.ts', 'ws'],
    ['main imports a room', 'service/src/main.ts', './relay/keys/anything.ts'],
    ['a part imports main', 'service/src/compose.ts', './main.ts'],
    ['a file belongs to no part', 'service/src/utils/broken.ts', '../platform/errors.ts'],
    ['a file belongs to no room', 'service/src/relay/attic/broken.ts', '../../platform/errors.ts'],
    ['the runtime imports the service', 'runtime/src/clock.ts', '@footbridge/service/platform/errors'],
    ['an agent edge imports another edge', 'agent/src/edges/broken.ts', './scratch.ts'],
    ['an agent edge imports an engine', 'agent/src/edges/broken.ts', '../journal/journal-sqlite.ts'],
    ['an agent edge imports the composition root', 'agent/src/edges/scratch.ts', '../agent.ts'],
    ['an agent flow imports an edge', 'agent/src/flows/inbound/broken.ts', '../../edges/uploads.ts'],
    ['an agent flow imports another flow', 'agent/src/flows/inbound/broken.ts', '../outbound/queue.ts'],
    ['an agent flow imports the composition root', 'agent/src/flows/outbound/broken.ts', '../../agent.ts'],
    ['an agent flow imports config', 'agent/src/flows/inbound/broken.ts', '../../config/config.ts'],
    [
      'an agent flow imports an engine',
      'agent/src/flows/outbound/broken.ts',
      '../../ports/messages/messages-simulated.ts',
    ],
    ['the agent journal imports Messages', 'agent/src/journal/broken.ts', '../ports/messages/messages.ts'],
    ['an agent port imports the journal', 'agent/src/ports/messages/broken.ts', '../../journal/journal.ts'],
    [
      'an agent engine imports the journal',
      'agent/src/ports/messages/chat-db.ts',
      '../../journal/journal.ts',
    ],
    ['the agent journal imports SQLite', 'agent/src/journal/broken.ts', './journal-sqlite.ts'],
    ['an agent port imports its own engine', 'agent/src/ports/messages/broken.ts', './chat-db.ts'],
    ['an agent command imports an engine', 'agent/src/commands/broken.ts', '../journal/journal-sqlite.ts'],
    ['the agent composition root imports an engine', 'agent/src/agent.ts', './journal/journal-sqlite.ts'],
    ['an agent file that opens engines imports a flow', 'agent/src/open/broken.ts', '../flows/link/link.ts'],
    ['the agent composition root imports a command', 'agent/src/agent.ts', './commands/run.ts'],
    ['the agent main imports an edge', 'agent/src/main.ts', './edges/data-dir.ts'],
    ['the agent errors import an edge', 'agent/src/errors.ts', './edges/data-dir.ts'],
    ['a file of the agent belongs to no part', 'agent/src/helpers/broken.ts', '../errors.ts'],
    ['a bin imports a script', 'agent/bin/footbridge-agent.mjs', '../../../scripts/run.mjs'],
    ['a bin imports TypeScript', 'agent/bin/footbridge-agent.mjs', '../src/main.ts'],
    ['a bin imports a package that its package may not', 'agent/bin/broken.mjs', '@footbridge/testkit/agent'],
    ['a source file imports a test', 'agent/src/edges/broken.ts', '../../test/file-server.ts'],
    ['the service imports the agent', 'service/src/platform/http/broken.ts', '@footbridge/agent/link'],
    ['the protocol imports the service', 'protocol/src/broken.ts', '@footbridge/service/platform/errors'],
    ['the agent imports the service', 'agent/src/broken.ts', '@footbridge/service/platform/errors'],
    ['media imports the service', 'media/src/broken.ts', '@footbridge/service/platform/errors'],
    ['the command line imports media', 'cli/src/broken.ts', '@footbridge/media/sniff'],
    ['the conformance checks import the command line', 'conformance/src/broken.ts', '@footbridge/cli/output'],
    ['the command line imports maintenance', 'cli/src/broken.ts', '@footbridge/maintenance/backup'],
    [
      'maintenance imports a feature',
      'maintenance/src/broken.ts',
      '@footbridge/service/features/reach/calls',
    ],
    [
      'maintenance imports a room that it may not',
      'maintenance/src/broken.ts',
      '@footbridge/service/relay/crm/x',
    ],
    ['maintenance imports the root', 'maintenance/src/broken.ts', '@footbridge/service/compose'],
    ['the service imports maintenance', 'service/src/platform/broken.ts', '@footbridge/maintenance/backup'],
    [
      'a package imports itself by name',
      'service/src/platform/broken.ts',
      '@footbridge/service/platform/errors',
    ],
    ['a package imports another by path', 'agent/src/broken.ts', '../../service/src/platform/errors.ts'],
  ];

  it.each(cases)('%s', (_title, file, target) => {
    write(file, target);
    const found = violations(scratch);
    expect(found).toEqual([expect.stringContaining(`packages/${file} → ${target}: `)]);
  });

  it.each([
    'agent/src/flows/outbound',
    'agent/bin',
    'cli/src',
    'conformance/src',
    'demo/src',
    'kit/src',
    'maintenance/src',
    'mac-launcher/src',
    'media/src',
    'protocol/src',
    'runtime/src',
    'service/src/relay/webhook',
    'service/src/platform/http',
    'testkit/src/crm',
  ])('files of %s import each other in a cycle', (folder) => {
    const ext = folder.endsWith('bin') ? 'mjs' : 'ts';
    write(`${folder}/a.${ext}`, `./b.${ext}`);
    write(`${folder}/b.${ext}`, `./c.${ext}`);
    write(`${folder}/c.${ext}`, `./a.${ext}`);
    expect(violations(scratch)).toEqual([expect.stringContaining('import cycle')]);
  });

  it('two folders name one table', () => {
    writeText(
      'service/src/relay/keys/keys-sql.ts',
      "export const read = (db) => db.selectFrom('crm_keys');\n",
    );
    writeText(
      'service/src/features/reach/reach-sql.ts',
      "export const read = (db) => db.selectFrom('reach').innerJoin('crm_keys as k', 'k.id', 'id');\n",
    );
    expect(violations(scratch)).toEqual([expect.stringContaining('the table crm_keys is named in')]);
  });

  it('types import each other in a cycle', () => {
    writeText('testkit/src/a.ts', "import type { B } from './b.ts';\nexport type A = B[];\n");
    writeText('testkit/src/b.ts', "export type { A } from './a.ts';\nexport type B = string;\n");
    expect(violations(scratch)).toEqual([expect.stringContaining('import cycle')]);
  });

  it('a package is not in the rules', () => {
    write('extra/src/a.ts', 'node:fs');
    expect(violations(scratch)).toEqual(['packages/extra is not in rules.ts; add it']);
  });

  it('a package imports another that its manifest does not declare', () => {
    write('cli/src/a.ts', '@footbridge/kit/footer');
    writeText('cli/package.json', JSON.stringify({ dependencies: { '@footbridge/protocol': '0.1.0' } }));
    expect(violations(scratch)).toEqual([expect.stringContaining('package.json of cli must declare kit')]);
    writeText('cli/package.json', JSON.stringify({ devDependencies: { '@footbridge/kit': '0.1.0' } }));
    expect(violations(scratch)).toEqual([]);
  });

  function write(file: string, target: string): void {
    writeText(file, `import { x } from '${target}';\nexport const y = x;\n`);
  }

  function writeText(file: string, text: string): void {
    const path = join(scratch, 'packages', file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
});
