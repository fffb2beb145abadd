import { globSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createRequire } from 'node:module';

import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { fetchNode } from '../../scripts/other-node.ts';
import { TSC } from '../../scripts/pack-kit.ts';
import { installKit, packKit, run } from './installed-kit.ts';

const cleanup = createCleanup();
afterAll(() => cleanup.run());

const ROOT = join(import.meta.dirname, '../..');
const NODE_TYPES = dirname(dirname(createRequire(import.meta.url).resolve('@types/node/package.json')));

let project = '';
let kit = '';
beforeAll(async () => {
  project = await installKit(cleanup);
  kit = join(project, 'node_modules/@footbridge/kit');
});

/** Writes a file into the project. Returns its name. */
function written(name: string, code: string): string {
  writeFileSync(join(project, name), code);
  return name;
}

/** Uses every part of the kit once: keys, signatures, checks, footers, reactions, statuses. */
const USE = `
const { keys, valid, invalid } = vectors;
const { privateKeyPem, publicKeyPem } = keys.seed;
const trusted = [{ publicKey: publicKeyPem, scheme: 'Ed25519' }];
const main = async () => {
  const { body, headers } = await kit.signWebhook(valid[0].body, privateKeyPem);
  const forged = { 'X-CRM-Signature': invalid[0].signature };
  const reaction = kit.makeReaction({ chatId: 1, target: 'g-1', kind: 'classic', type: 'love' });
  const state = kit.reduceReactions({}, { message: reaction, sender: 'us', at: 1 });
  const sticker = kit.makeReaction({ chatId: 1, target: 'g-1', kind: 'sticker', sticker: { url: 'https://example.com/a.png' } });
  const { signal } = new AbortController();
  const client = new kit.BridgeClient({ url: 'http://127.0.0.1:1', privateKey: privateKeyPem, attempts: 1 });
  const message = { locationId: 'locTEST1', contactId: 'c1', messageId: 'm-1' };
  console.log(JSON.stringify([
    headers['X-CRM-Signature'] === valid[0].signature,
    (await kit.verifyWebhook(body, headers, trusted)).ok,
    (await kit.verifyWebhook(invalid[0].body, forged, trusted)).ok,
    kit.checkMessage({ ...message, attachments: ['https://example.com/a.png', 'ftp://example.com'] }).length,
    (await kit.sendMessage(client, { ...message, attachments: ['https://example.com/a.png'] }, { signal })).code,
    kit.reactionsFor(state, 'g-1'),
    kit.parseFooter(sticker).metadata.reaction.kind,
    kit.nextStatus('delivered', 'pending'),
  ]));
};
`;
const PRINTED = [
  true,
  true,
  false,
  1,
  'UNREACHABLE',
  [{ sender: 'us', kind: 'classic', type: 'love' }],
  'sticker',
  'delivered',
];

const VECTORS = '@footbridge/kit/vectors/signatures-ed25519.json';
const MODULES = {
  'esm.mjs': `import * as kit from '@footbridge/kit';
import { createRequire } from 'node:module';
const vectors = createRequire(import.meta.url)('${VECTORS}');
${USE}
await main();
`,
  'cjs.cjs': `const kit = require('@footbridge/kit');
const vectors = require('${VECTORS}');
${USE}
void main();
`,
};

/** The oldest Node that the kit supports, and the one that runs this test. */
const NODES = ['20.0.0', 'packaged'].map((version) => ({ version, node: nodeOf(version) }));

function nodeOf(version: string): string {
  if (version === 'packaged') return process.execPath;
  const fetched = fetchNode(join(ROOT, '.cache', `node-${version}`), version);
  if ('problem' in fetched) throw new Error(fetched.problem);
  return fetched.node;
}

describe('the packed kit', () => {
  it('contains what its users need, and nothing else from the repository', () => {
    expect(readdirSync(kit).sort()).toEqual([
      'LICENSE',
      'README.md',
      'cjs',
      'esm',
      'package.json',
      'php',
      'python',
      'templates',
      'vectors',
    ]);
    const manifest = JSON.parse(readFileSync(join(kit, 'package.json'), 'utf8'));
    expect(manifest).not.toHaveProperty('dependencies');
    expect(manifest.engines).toEqual({ node: '>=20' });
    const foreign = globSync('{esm,cjs}/**/*.{js,d.ts}', { cwd: kit }).flatMap((file) =>
      Array.from(
        readFileSync(join(kit, file), 'utf8').matchAll(/\b(?:from|require|import)\s*\(?\s*['"]([^'"]+)['"]/g),
        ([, target = '']) => `${file} → ${target}`,
      ),
    );
    expect(foreign.length).toBeGreaterThan(50);
    expect(foreign.filter((line) => !/ → \.{1,2}\//.test(line))).toEqual([]);
  });

  it.each(['esm', 'cjs'])('every module of %s has types and a source map with its source', (format) => {
    const modules = globSync('**/*.js', { cwd: join(kit, format) });
    expect(modules.length).toBeGreaterThan(15);
    for (const module of modules) {
      expect(readFileSync(join(kit, format, module.replace(/\.js$/, '.d.ts')), 'utf8')).toMatch(/\bexport\b/);
      const map = JSON.parse(readFileSync(join(kit, format, `${module}.map`), 'utf8'));
      const name = module.replace(/\.js$/, '.ts');
      const [place = '', file = ''] = name.startsWith('protocol') ? name.split(/[\\/]/) : ['kit', name];
      expect(map.sourcesContent).toEqual([readFileSync(join(ROOT, 'packages', place, 'src', file), 'utf8')]);
      expect(join(dirname(join(format, module)), map.sources[0])).toBe(join('src', name));
    }
  });

  describe.each(NODES)('on Node $version', ({ node }) => {
    it.each(Object.entries(MODULES))('%s imports and uses it', (name, code) => {
      const ended = run(node, ['--no-warnings', written(name, code)], project);
      expect([ended.stderr, ended.status]).toEqual(['', 0]);
      expect(JSON.parse(ended.stdout)).toEqual(PRINTED);
    });
  });

  const consumer = (binding: string) => `${binding}
const sent: Promise<kit.SendResult> = kit.sendMessage(new kit.BridgeClient({ url: '', privateKey: '' }), {
  locationId: 'l', contactId: 'c', message: kit.makeFooter({ chat_id: 1 }, { text: 'Hi' }),
});
const verified: Promise<kit.VerifyResult<kit.TrustedKey>> = kit.verifyWebhook('', new Headers(), []);
const shown: kit.ShownReaction[] = kit.reactionsFor({}, 'g');
// @ts-expect-error The types are those of the kit, not any.
kit.stripFooter(1);
export { sent, shown, verified };
`;
  const esm = consumer("import * as kit from '@footbridge/kit';");
  const node = ['--lib', 'es2023', '--types', 'node', '--typeRoots', NODE_TYPES];
  const browser = ['--lib', 'es2023,dom', '--types', ''];

  it.each([
    ['an ES module, node16', 'use.mts', esm, ['--module', 'node16', ...node]],
    [
      'a CommonJS module, node16',
      'use.cts',
      consumer("import kit = require('@footbridge/kit');"),
      ['--module', 'node16', ...node],
    ],
    ['a module, nodenext', 'next.mts', esm, ['--module', 'nodenext', ...node]],
    [
      'a module, bundler',
      'bundled.ts',
      esm,
      ['--module', 'esnext', '--moduleResolution', 'bundler', ...node],
    ],
    [
      'a module for browsers',
      'page.ts',
      esm,
      ['--module', 'esnext', '--moduleResolution', 'bundler', ...browser],
    ],
  ])('type-checks %s', (_, name, code, options) => {
    const strict = ['--ignoreConfig', '--noEmit', '--strict', '--exactOptionalPropertyTypes'];
    const args = [TSC, ...strict, '--target', 'es2023', ...options, written(name, code)];
    expect(run(process.execPath, args, project)).toEqual({ status: 0, stdout: '', stderr: '' });
  });
});

describe('npm run pack -- kit', () => {
  it('names the archive, replaces its own output and rejects a folder with other files', async () => {
    const folder = await tempDir(cleanup);
    for (const _ of ['first', 'again']) {
      const packed = packKit(folder, 'kit');
      expect(packed).toMatchObject({ status: 0, stderr: '' });
      expect(packed.stdout).toContain(`npm install ${join(folder, 'kit', 'footbridge-kit-0.1.0.tgz')}`);
    }
    writeFileSync(join(folder, 'precious.txt'), 'mine');
    const { status, stderr } = packKit(folder, '.');
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(/^.* has files that this script did not write\..*\n$/),
    ]);
    expect(readFileSync(join(folder, 'precious.txt'), 'utf8')).toBe('mine');
  });
});
