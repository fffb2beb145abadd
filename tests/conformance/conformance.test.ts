import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

import { RULES } from '@footbridge/conformance/rules';
import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { startCrm } from '@footbridge/testkit/crm';
import { freePort } from '@footbridge/testkit/ports';
import { until } from '@footbridge/testkit/until';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { jsonLines, runInProcess } from '../cli/run-in-process.ts';
import type { Ran } from '../cli/run-in-process.ts';
import { startSampleCrm } from './sample-crm.ts';
import type { CrmFault, SampleCrm } from './sample-crm.ts';

const BIN = join(import.meta.dirname, '../../packages/cli/bin/footbridge');

const cleanup = createCleanup();
afterAll(() => cleanup.run());

let folder: string;
beforeAll(async () => {
  folder = await tempDir(cleanup);
});

/** Runs the command against a new CRM. */
async function check(fault?: CrmFault, ...args: string[]): Promise<Ran & { readonly crm: SampleCrm }> {
  const port = await freePort();
  const crm = await startSampleCrm(() => `http://127.0.0.1:${port}`, fault);
  cleanup.add(() => crm.stop());
  const [token, key] = ['token', 'pem'].map((name) => join(folder, `${port}.${name}`)) as [string, string];
  writeFileSync(token, crm.token);
  writeFileSync(key, crm.publicKey);
  const options = ['--crm', crm.url, '--token-file', token, '--listen', `127.0.0.1:${port}`];
  const ran = await runInProcess(
    [
      'conformance',
      ...options,
      '--send-url',
      `${crm.url}/send`,
      '--key-file',
      key,
      '--timeout',
      '60',
      ...args,
    ],
    { env: { HOME: folder } },
  );
  return { ...ran, crm };
}

const idsOf = (ran: Ran | undefined, state: string) =>
  jsonLines(ran?.stdout ?? '').flatMap((line) => (line['state'] === state ? [String(line['id'])] : []));

/** The checks that detect each fault. */
const DETECTED_BY: Readonly<Record<CrmFault, readonly string[]>> = {
  'signs a different serialisation of the body': ['HOOK3'],
  'signs in hex': ['HOOK2'],
  'signs in the URL-safe alphabet': ['HOOK2'],
  'uses removed field names': ['HOOK5'],
  'sends a form content type': ['HOOK4'],
  'gives up after 503': ['HOOK10'],
  'retries with a new messageId': ['HOOK11'],
  'retries after 400': ['HOOK13'],
  'ignores Retry-After': ['HOOK12'],
  'drops the footer': ['HOOK15'],
  'loses emoji in webhooks': ['HOOK8'],
  'posts twice': ['HOOK9'],
  'sends seconds': ['HOOK17'],
  'sends attachments as objects': ['HOOK16'],
  'rejects unknown fields': ['API5'],
  'limits bodies to 10 KB': ['API7'],
  'stores every repeat': ['API10', 'API11'],
  'accepts any token': ['API2'],
  'responds without a messageId': ['API4'],
  'loses emoji in messages': ['API8'],
  'fails on unknown contacts': ['API12'],
  'lets pending overwrite delivered': ['STATUS3'],
  'rejects unknown error codes': ['STATUS4'],
  'limits without Retry-After': ['API13'],
  redirects: ['API1', 'HOOK1'],
  'does not respond to inbound messages': ['API4', 'API12', 'API14'],
};
/** The options that a fault needs to be detected, or to be detected sooner. */
const ARGS: Partial<Record<CrmFault, readonly string[]>> = {
  'gives up after 503': ['--wait', '20'],
  'limits without Retry-After': ['--burst', '400'],
  'does not respond to inbound messages': ['--timeout', '8'],
};
describe('footbridge conformance', () => {
  it('passes a CRM that follows the contract, and writes every report', async () => {
    const [junit, html, badge] = ['r.xml', 'r.html', 'r.svg'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    const ran = await check(undefined, '--burst', '400', '--junit', junit, '--html', html, '--badge', badge);
    expect(idsOf(ran, 'fail')).toEqual([]);
    expect(idsOf(ran, 'warn')).toEqual([]);
    expect(idsOf(ran, 'not_tried')).toEqual([]);
    const ids = Object.values(RULES).map(({ id }) => id);
    expect(new Set(idsOf(ran, 'pass'))).toEqual(new Set(ids));
    expect(ran.code).toBe(0);
    const verdict = `${ids.length}/${ids.length} passed`;
    expect(jsonLines(ran.stdout).at(-1)).toMatchObject({ verdict, fail: 0 });

    const files = [junit, html, badge].map((file) => readFileSync(file, 'utf8'));
    expect(files[0]).toContain(`tests="${ids.length}" failures="0"`);
    expect(files[1]).toContain(verdict);
    expect(files[1]).not.toMatch(/<script|<link|src=|href=/);
    expect(files[2]).toContain(verdict);
    const written = [...files, ran.stdout, ran.stderr].join('\n');
    expect(written).not.toContain(ran.crm.token);
    expect(written).not.toContain('4155550142');
  });

  it('reports where a CRM like HighLevel differs: idempotency keys and late statuses', async () => {
    const crm = await startCrm();
    cleanup.add(() => crm.stop());
    const token = join(folder, 'highlevel.token');
    writeFileSync(token, crm.token('loc1').access_token);
    const options = ['--crm', crm.url, '--token-file', token, '--location', 'loc1', '--burst', '200'];
    const ids = ['--message-id', crm.newMessage('loc1'), '--message-id', crm.newMessage('loc1')];
    const ran = await runInProcess(['conformance', ...options, ...ids, '--timeout', '60']);
    expect([idsOf(ran, 'fail'), idsOf(ran, 'warn'), ran.code]).toEqual([['STATUS3'], ['API10'], 9]);
    expect(crm.messages.some(({ message }) => message.includes('svc-metadata'))).toBe(true);
  });

  it('prints in one line what is missing, before it makes any call', async () => {
    const file = join(folder, 'r.xml');
    const cases: readonly (readonly [readonly string[], string])[] = [
      [[], 'nothing to check'],
      [['--crm', 'http://127.0.0.1:1'], '--token-file'],
      [['--listen', '127.0.0.1:0', '--junit', join(folder, 'none', 'r.xml')], 'cannot write'],
      [['--listen', '127.0.0.1:0', '--html', folder], 'it is a folder'],
      [['--listen', '127.0.0.1:0', '--key-file', file], 'is not a public key'],
      [['--listen', '99999'], 'It must be an address and a port'],
    ];
    writeFileSync(file, '');
    for (const [args, message] of cases) {
      const { code, stdout, stderr } = await runInProcess(['conformance', ...args], { isTTY: true });
      expect([code, stdout, stderr.split('\n').length]).toEqual([2, '', 2]);
      expect(stderr).toContain(message);
    }
  });

  it('says which address to listen on when it cannot use the given one', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    cleanup.add(async () => void taken.close());
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const inUse = await runInProcess(['conformance', '--listen', `127.0.0.1:${port}`], { isTTY: true });
    expect([inUse.code, inUse.stderr]).toEqual([2, expect.stringContaining(`port ${port} is in use`)]);
    const foreign = await runInProcess(['conformance', '--listen', '192.0.2.1:0'], { isTTY: true });
    expect([foreign.code, foreign.stderr]).toEqual([1, expect.stringContaining('Next: pass an address of')]);
  });

  it('does not read more than 4 MB of a response', async () => {
    const token = join(folder, 'large.token');
    writeFileSync(token, 'some-token');
    const crm = createServer((_request, response) => response.end(Buffer.alloc(5 * 1024 * 1024)));
    cleanup.add(async () => void crm.close());
    await once(crm.listen(0, '127.0.0.1'), 'listening');
    const { port } = crm.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}`;
    const ran = await runInProcess(['conformance', '--crm', url, '--token-file', token]);
    const first = jsonLines(ran.stdout).find(({ id }) => id === 'API1');
    expect(first?.['seen']).toContain('the response is larger than 4 MB');
  });

  it('fails API1 and skips the other checks when the CRM cannot be reached', async () => {
    const token = join(folder, 'unreachable.token');
    writeFileSync(token, 'some-token');
    const ran = await runInProcess(['conformance', '--crm', 'http://127.0.0.1:1', '--token-file', token]);
    expect([idsOf(ran, 'fail'), ran.code]).toEqual([['API1'], 9]);
    expect(idsOf(ran, 'not_tried')).toContain('API4');
  });

  it('leaves an earlier report in place after Ctrl-C, and closes its port', async () => {
    const crm = await startSampleCrm(() => 'http://127.0.0.1:1');
    cleanup.add(() => crm.stop());
    const token = join(folder, 'stopped.token');
    const report = join(folder, 'stopped.html');
    writeFileSync(token, crm.token);
    writeFileSync(report, 'an earlier report');
    const options = ['--crm', crm.url, '--token-file', token, '--send-url', `${crm.url}/send`];
    const program = [BIN, 'conformance', ...options, '--listen', '127.0.0.1:0', '--html', report] as const;
    const child = spawn(program[0], program.slice(1));
    let stdout = '';
    child.stdout.on('data', (part: Buffer) => (stdout += part.toString()));
    const ended = new Promise((resolve) => child.once('close', resolve));
    // The webhooks never arrive, so the command keeps waiting for them.
    await until(() => stdout.includes('"API13"'));
    child.kill('SIGINT');
    expect(await ended).toBe(130);
    expect(readFileSync(report, 'utf8')).toBe('an earlier report');
    expect(readdirSync(folder).filter((name) => name.endsWith('.part'))).toEqual([]);
  });

  it('every rule is in the documentation', () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/crm.md'), 'utf8');
    const missing = Object.values(RULES).filter(({ id, title }) => !page.includes(`| ${id} | ${title} |`));
    expect(missing.map(({ id, title }) => `| ${id} | ${title} |`)).toEqual([]);
  });

  describe('with a fault', () => {
    const runs = new Map<CrmFault, Promise<Ran & { readonly crm: SampleCrm }>>();
    // The runs mostly wait, so they run in parallel, but only after the tests above: a run also reports slow responses.
    beforeAll(() => {
      for (const fault of Object.keys(DETECTED_BY) as CrmFault[])
        runs.set(fault, check(fault, ...(ARGS[fault] ?? [])));
    });

    it.each(Object.entries(DETECTED_BY))('detects a CRM that %s', async (fault, ids) => {
      const ran = await runs.get(fault as CrmFault);
      expect(idsOf(ran, 'fail')).toEqual(ids);
      expect(ran?.code).toBe(9);
      expect(`${ran?.stdout}${ran?.stderr}`).not.toContain(ran?.crm.token);
    });
  });
});
