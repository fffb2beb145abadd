import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { codeEntry } from '@footbridge/protocol/codes';
import { describe, expect, it } from 'vitest';

import { SETTINGS } from '@footbridge/service/config/settings';
import { staleDocuments } from '../scripts/documents.ts';
import { clausesNotBuilt, CONTRACT, rulesOf, THREATS, unknownNumbersIn } from '../scripts/numbered-rules.ts';

const ROOT = join(import.meta.dirname, '..');
const PAGES = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  '.github/SECURITY.md',
  '.github/pull_request_template.md',
  ...readdirSync(join(ROOT, 'docs')).map((name) => `docs/${name}`),
].filter((name) => name.endsWith('.md'));
const read = (page: string) => readFileSync(join(ROOT, page), 'utf8');
const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };

/** The anchors that GitHub makes for headings. */
const anchorsIn = (markdown: string): string[] =>
  [...markdown.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );

describe('documents keep step with the code', () => {
  it('generated pages are fresh', async () => {
    expect(await staleDocuments(ROOT)).toEqual([]);
  });

  it.each(PAGES)('%s: every link leads somewhere', (page) => {
    const broken = [...read(page).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)].filter(
      ([, file = '', anchor]) => {
        const target = file === '' ? page : join(dirname(page), file);
        if (!existsSync(join(ROOT, target))) return true;
        return anchor !== undefined && !anchorsIn(read(target)).includes(anchor);
      },
    );
    expect(broken.map(([link]) => link)).toEqual([]);
  });

  it.each(PAGES)('%s: every npm script it names exists', (page) => {
    const named = [
      ...read(page).matchAll(/\bnpm (?:run )?(start|test|demo|check|contract|bench|[a-z]+:[a-z]+)\b/g),
    ].map((match) => match[1] ?? '');
    expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
  });

  it.each(PAGES)('%s: every setting it names exists', (page) => {
    const known = new Set(Object.values(SETTINGS).flatMap(({ name }) => [name, `${name}_FILE`]));
    const built = read(page).replaceAll(/^\*Not built yet.*$/gm, '');
    const named = [
      ...built.matchAll(
        /`((?:CRM|RATE_LIMIT|ASSET|DATABASE|REDIS|BASE|TRUST|OPERATOR|NODE|LOCATION|JOURNAL|MESSAGE_BODY)_[A-Z0-9_]*[A-Z0-9])(?==|`)/g,
      ),
    ].map((match) => match[1] ?? '');
    expect(named.filter((name) => !known.has(name) && codeEntry(name) === undefined)).toEqual([]);
  });

  it('clauses.json holds every clause of the contract, with its title', () => {
    const clauses = JSON.parse(read('tests/contract/clauses.json')) as Record<string, string>;
    expect(clauses).toEqual(Object.fromEntries(rulesOf(read(CONTRACT))));
  });

  it('the clauses marked as not built are those listed as open', () => {
    expect(clausesNotBuilt(read(CONTRACT))).toEqual(JSON.parse(read('tests/contract/open.json')));
  });

  it('contract and threats share no number', () => {
    const threats = [...rulesOf(read(THREATS)).keys()];
    expect(threats.filter((number) => !number.startsWith('T'))).toEqual([]);
    expect([...rulesOf(read(CONTRACT)).keys()].filter((number) => number.startsWith('T'))).toEqual([]);
  });

  it('every clause and threat number in code, tests and documents exists', () => {
    expect(unknownNumbersIn(ROOT)).toEqual([]);
  });

  it('every footbridge command in the papers is one', () => {
    const commands = new Set(
      [...PAGES, '.github/ISSUE_TEMPLATE/bug.yml'].flatMap((page) =>
        [...read(page).matchAll(/npx footbridge ([a-z]+(?: [a-z]+)?)/g)].map((match) => match[1] ?? ''),
      ),
    );
    expect(commands.size).toBeGreaterThan(4);
    const main = join(ROOT, 'packages/cli/src/main.ts');
    const unknown = [...commands].filter((command) => {
      try {
        const help = execFileSync(process.execPath, [main, ...command.split(' '), '--help'], {
          encoding: 'utf8',
        });
        // Commander answers an unknown command with the help of its parent.
        return (
          !help.startsWith(`Usage: footbridge ${command}`) &&
          !help.startsWith(`Usage: footbridge ${command.split(' ')[0]} [`)
        );
      } catch {
        return true;
      }
    });
    expect(unknown).toEqual([]);
  });
});
