import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { codeEntry } from '@footbridge/protocol/codes';
import { MAINTENANCE_CODES } from '@footbridge/protocol/maintenance';
import { describe, expect, it } from 'vitest';

import { SETTINGS as AGENT_SETTINGS } from '@footbridge/agent/config/settings';
import { createProgram } from '@footbridge/cli/program';
import { SETTINGS } from '@footbridge/service/config';
import type { Call } from '@footbridge/protocol/operator/call';
import * as SESSION_CALLS from '@footbridge/protocol/operator/session';
import { openApiDocument } from '@footbridge/service/platform/openapi/openapi-document';
import { headingAnchors } from '@footbridge/site/heading-anchors';
import { staleDocuments } from '../scripts/documents.ts';
import { commandsIn, commandTable, problemWith } from '../scripts/named-commands.ts';
import type { CommandTable } from '../scripts/named-commands.ts';
import { clausesNotBuilt, CONTRACT, rulesOf, THREATS, unknownNumbersIn } from '../scripts/numbered-rules.ts';
import { filesWithText, piecesOf } from '../scripts/written-text.ts';

const ROOT = join(import.meta.dirname, '..');
const PAGES = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  '.github/pull_request_template.md',
  'packages/kit/README.md',
  ...readdirSync(join(ROOT, 'docs')).map((name) => `docs/${name}`),
].filter((name) => name.endsWith('.md'));
const read = (page: string) => readFileSync(join(ROOT, page), 'utf8');
const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };

/** The page without clauses, commands and calls that are marked as not built. */
function builtOf(page: string): string {
  const sections = read(page).split(/^(?=### )/m);
  const built =
    page === CONTRACT ? sections.filter((section) => !/^\*Not built yet/m.test(section)) : sections;
  return built.join('').replaceAll(/^\*Not built yet.*$/gm, '');
}

/** The code of a page: blocks, and spans with their backticks. */
const codeIn = (markdown: string): string =>
  [...markdown.matchAll(/^```\w*\n([\s\S]*?)^```|(`[^`\n]+`)/gm)]
    .map(([, block, span]) => block ?? span ?? '')
    .join('\n');

/** Variables of the service, the agent, the command line and the test tools. */
const VARIABLES = new Set([
  ...Object.values(SETTINGS).flatMap(({ name }) => [name, `${name}_FILE`]),
  ...Object.values(AGENT_SETTINGS).flatMap(({ name }) => [name, `${name}_FILE`]),
  'FOOTBRIDGE_OPERATOR_URL',
  'FOOTBRIDGE_PROFILE',
  'CHROMIUM_PATH',
  // A fault of the simulator.
  'OUTCOME_UNKNOWN',
]);

/** The file that reads the options of an npm script or a program. */
const OPTIONS_OF: Readonly<Record<string, string>> = {
  release: 'scripts/release.ts',
  'tests/nodes/campaign.ts': 'tests/nodes/campaign/options.ts',
  bench: 'bench/options.ts',
  check: 'scripts/check.ts',
  demo: 'packages/demo/src/options.ts',
  start: 'packages/service/src/platform/settings/command-line.ts',
  test: 'scripts/test.ts',
  siege: 'tests/siege/main.ts',
  fuzz: 'tests/siege/parsers/main.ts',
};

/** `METHOD /path` of every call to the service and of every call that the service makes to the CRM. */
function callsThatExist(): string[] {
  const { paths } = openApiDocument({ version: '0', url: 'http://127.0.0.1' });
  const service = join(ROOT, 'packages/service/src');
  const sources = (suffix: string) =>
    globSync(`**/*${suffix}`, { cwd: service })
      .map((name) => readFileSync(join(service, name), 'utf8'))
      .join('\n');
  const operator = sources('-routes.ts').matchAll(
    /\bapp\.(get|post|put|patch|delete)(?:<[^(]*>)?\(\s*'(\/[^']*)'/g,
  );
  const crm = sources('-calls{,-http}.ts').matchAll(/['`](\/con[^'`?]*)/g);
  const control = readFileSync(join(ROOT, 'packages/simulator/src/calls.ts'), 'utf8');
  const verbs = [...control.matchAll(/verb === '(\w+)'/g)].map(([, verb = '']) => `/people/{}/${verb}`);
  return [
    ...Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method} ${path}`),
    ),
    ...[...operator].map(([, method = '', path = '']) => `${method} ${path}`),
    ...Object.values<Call>(SESSION_CALLS).map(({ method, path }) => `${method} ${path}`),
    ...[...crm].flatMap(([, path = '']) => ['GET', 'POST', 'PUT'].map((method) => `${method} ${path}`)),
    ...['/world', '/groups', '/people/{}', ...verbs].map((path) => `POST ${path}`),
    'GET /world',
    'GET /openapi.json',
    'GET /asyncapi.json',
  ];
}

/** Parameters of a path have one form: `:id`, `{id}` and `${…}` become `{}`. */
const normalized = (call: string): string =>
  call
    .replace(/^\w+/, (method) => method.toUpperCase())
    .replaceAll(/\$\{[^}]*\}|\{[^}]*\}|:[a-z]\w*/gi, '{}')
    .replace(/\.$/, '');

/** The anchors that GitHub makes for headings. */
function anchorsIn(markdown: string): string[] {
  const anchorOf = headingAnchors();
  return [...markdown.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading));
}

/** Expands `A2–A5, W16` to single clause numbers. */
const numbersIn = (text: string): string[] =>
  [...text.matchAll(/([A-Z])(\d+)(?:–[A-Z](\d+))?/g)].flatMap(([, chapter = '', from = '', to = from]) =>
    Array.from({ length: Number(to) - Number(from) + 1 }, (_, index) => `${chapter}${Number(from) + index}`),
  );

/** The test files that `npm test -- PATH …` runs. */
const testsOf = (command: string): string[] =>
  [...command.matchAll(/npm test -- ([^`]+)`/g)].flatMap(([, paths = '']) =>
    paths.split(' ').flatMap((path) => {
      const files = path.endsWith('.ts') ? [path] : globSync(`${path}/**/*.test.ts`, { cwd: ROOT });
      expect(files, path).not.toEqual([]);
      return files;
    }),
  );

describe('the documents', () => {
  it('generated pages are up to date', async () => {
    expect(await staleDocuments(ROOT)).toEqual([]);
  });

  it.each(PAGES)('%s: every link has a target', (page) => {
    const broken = [...read(page).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)].filter(
      ([, file = '', anchor]) => {
        const target = file === '' ? page : join(dirname(page), file);
        if (!existsSync(join(ROOT, target))) return true;
        return anchor !== undefined && !anchorsIn(read(target)).includes(anchor);
      },
    );
    expect(broken.map(([link]) => link)).toEqual([]);
  });

  it.each(PAGES)('%s: every npm script in it exists', (page) => {
    const named = [...codeIn(read(page)).matchAll(/\bnpm (?:run ([\w:-]+)|(start|test)\b)/g)].map(
      ([, script, short]) => script ?? short ?? '',
    );
    expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
  });

  it.each(PAGES)('%s: every file in it exists, and every program is run by a suitable Node', (page) => {
    const code = codeIn(read(page));
    const named = [...code.matchAll(/`((?:packages|tests|scripts|bench|docs|deploy)\/[\w./-]+)`/g)].map(
      ([, path = '']) => path,
    );
    const run = [...code.matchAll(/\bnode (?:scripts\/run\.mjs )?(\S+\.ts)\b/g)].map(([, path = '']) => path);
    expect([...named, ...run].filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
    expect([...code.matchAll(/\bnode (?!scripts\/run\.mjs )\S+\.ts\b/g)].map(([line]) => line)).toEqual([]);
  });

  it.each(PAGES)('%s: every option of a script or program in it exists', (page) => {
    const lines = [
      ...codeIn(read(page)).matchAll(
        /\b(?:npm (?:run )?(\w+) -- |node scripts\/run\.mjs (\S+\.ts) )([^`\n#]*)/g,
      ),
    ];
    const unknown = lines.flatMap(([line, script = '', program, words = '']) => {
      const source = read(OPTIONS_OF[program ?? script] ?? program ?? 'package.json');
      const options = [...words.matchAll(/(?<!\S)--([a-z][a-z-]*)/g)].map(([, option = '']) => option);
      return options.some((option) => !source.includes(option)) ? [line] : [];
    });
    expect(unknown).toEqual([]);
  });

  it.each(PAGES)('%s: every log event in it exists', (page) => {
    const events = new Set(
      [...read('docs/operate.md').matchAll(/^\| `(\w+\.\w+)` \|/gm)].map(([, event]) => event),
    );
    const areas = new Set([...events].map((event) => event?.split('.')[0]));
    const named = [...codeIn(read(page)).matchAll(/`(([a-z_]+)\.[a-z]+_[a-z_]+)`/g)].flatMap(
      ([, event, area]) => (areas.has(area) ? [event] : []),
    );
    expect(named.filter((event) => !events.has(event))).toEqual([]);
  });

  it.each(PAGES)('%s: every environment variable and code in it exists', (page) => {
    const code = codeIn(builtOf(page));
    const named = [...code.matchAll(/(?:^|[\s(`])([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?:=|(?<=`\w+)`)/gm)].map(
      (match) => match[1] ?? '',
    );
    const codes = new Set<string>(MAINTENANCE_CODES);
    const unknown = named.filter(
      (name) => !VARIABLES.has(name) && !codes.has(name) && codeEntry(name) === undefined,
    );
    expect([...new Set(unknown)]).toEqual([]);
  });

  it.each(PAGES)('%s: every call in it exists', (page) => {
    const known = new Set(callsThatExist().map(normalized));
    const named = [
      ...codeIn(builtOf(page)).matchAll(/\b(GET|POST|PUT|PATCH|DELETE) (?:\{your API\})?(\/[^\s`?]*)/g),
    ].map(([, method = '', path = '']) => normalized(`${method} ${path}`));
    expect(named.filter((call) => !known.has(call))).toEqual([]);
  });

  it('.env.example names a database next to the OAuth settings', () => {
    const [, oauth = ''] = read('.env.example').split('\n# OAuth\n');
    expect(oauth.split('\n\n')[0]).toContain('DATABASE_URL=sqlite:./data/footbridge.sqlite');
  });

  it('docs/crm.md says at its top which setting tapbacks on plain texts need', () => {
    expect(read('docs/crm.md').split('\n## ')[0]).toContain('`FOOTER_ON_PLAIN_TEXT=true`');
  });

  const promises = [...read('docs/promises.md').matchAll(/^\|([^|]+)\|([^|]*)\| (`npm [^|]+) \|$/gm)].map(
    ([, promise = '', clauses = '', command = '']) => ({
      promise: promise.trim(),
      clauses: clauses.trim(),
      command,
    }),
  );

  it('docs/promises.md has a command for every promise', () => {
    const rows = [...read('docs/promises.md').matchAll(/^\|/gm)];
    expect(promises.length).toBe(rows.length - 2);
  });

  it.each(promises)('docs/promises.md: the command tests $clauses: $promise', ({ clauses, command }) => {
    const sources = testsOf(command).map(read).join('\n');
    const untested = numbersIn(clauses).filter((number) => !new RegExp(`\\b${number}\\b`).test(sources));
    expect(untested).toEqual([]);
  });

  it('clauses.json contains every clause of the contract with its title', () => {
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
});

describe('commands that are named in documents, help, hints and comments', async () => {
  const { stdin, stdout, stderr } = process;
  const cli = commandTable(await createProgram({ env: {}, stdin, stdout, stderr, cleanups: new Set() }));
  const agent = agentTable();
  const texts = [...filesWithText(ROOT), '.github/ISSUE_TEMPLATE/bug.yml']
    .filter((path) => !/\.(?:test|contract)\.ts$|^tests\/|\/fixtures\//.test(path))
    .flatMap((path) => {
      const source = read(path);
      const text = /\.(?:md|yml)$/.test(path)
        ? [codeIn(builtOf(path))]
        : piecesOf(path, source).map((piece) => piece.text.replaceAll('\\n', '\n'));
      return text.map((piece) => ({ path, piece }));
    });
  const named = (program: string) =>
    texts.flatMap(({ path, piece }) => commandsIn(program, piece).map((words) => ({ path, words })));
  const faults = (program: string, table: CommandTable) =>
    named(program).flatMap(({ path, words }) => {
      const problem = problemWith(words, table);
      return problem === undefined ? [] : [`${path}: ${program} ${words.join(' ')}: ${problem}`];
    });

  it('every footbridge command and option exists', () => {
    expect(named('footbridge').length).toBeGreaterThan(20);
    expect(faults('footbridge', cli)).toEqual([]);
  });

  it('every footbridge-agent command and option exists', () => {
    expect(named('footbridge-agent').length).toBeGreaterThan(5);
    expect(faults('footbridge-agent', agent)).toEqual([]);
  });

  it('finds an unknown command and an unknown option', () => {
    const found = commandsIn(
      'footbridge',
      'run `npx footbridge keys add --preset x`, footbridge settings, footbridge tail --now',
    );
    expect(found).toEqual([['keys', 'add', '--preset', 'x'], ['settings'], ['tail', '--now']]);
    expect(found.map((words) => problemWith(words, cli))).toEqual([
      undefined,
      'settings is not a command',
      'tail has no option --now',
    ]);
  });
});

/** The agent starts when its main file is imported, so its commands are read from its help. */
function agentTable(): CommandTable {
  const help = (...args: string[]) =>
    execFileSync(process.execPath, [join(ROOT, 'packages/agent/src/main.ts'), ...args, '--help'], {
      encoding: 'utf8',
    });
  const optionsIn = (text: string) =>
    new Set(Array.from(text.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm), ([, name = '']) => name));
  const names = Array.from(help().matchAll(/^ {2}([a-z]+) \[options\]/gm), ([, name = '']) => name);
  return {
    commands: new Map(names.map((name) => [name, { commands: new Map(), options: optionsIn(help(name)) }])),
    options: new Set(),
  };
}
