// Collects the log events of the programs from their source, for docs/operate.md.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { parseSync } from 'oxc-parser';

const SOURCES = ['packages/{service,media,agent,runtime}/src/**/*.ts'];
const LEVELS = new Set(['debug', 'info', 'warn', 'error']);
const [START, END] = ['<!-- log events -->', '<!-- /log events -->'];

export interface LogEvent {
  readonly event: string;
  readonly level: string;
  readonly message: string;
}

type Node = Readonly<Record<string, unknown>> & { readonly type: string };

/** Returns every `log.level({ event: 'name', … }, 'message')` in a source text. Events that are not literals are left out. */
export function logEvents(file: string, source: string): LogEvent[] {
  const events: LogEvent[] = [];
  visit(parseSync(file, source).program, (node) => {
    if (node.type !== 'CallExpression' || !Array.isArray(node['arguments'])) return;
    const level = nameOf(child(child(node['callee'])?.['property']));
    const [fields, text] = (node['arguments'] as unknown[]).map(child);
    if (level === undefined || !LEVELS.has(level) || fields?.type !== 'ObjectExpression') return;
    const event = textOf(propertyOf(fields, 'event'));
    if (event !== undefined) events.push({ event, level, message: textOf(text) ?? '' });
  });
  return events;
}

/** Returns the manual with an up-to-date table of events. */
export function operatePage(root: string): string {
  const page = readFileSync(join(root, 'docs/operate.md'), 'utf8');
  const [start, end] = [page.indexOf(START), page.indexOf(END)];
  if (start === -1 || end === -1) throw new Error('docs/operate.md has no marker for the log events');
  return `${page.slice(0, start)}${START}\n\n${table(root)}\n\n${page.slice(end)}`;
}

function table(root: string): string {
  const files = globSync(SOURCES, { cwd: root }).filter((file) => !/\.(test|contract)\.ts$/.test(file));
  const events = files.flatMap((file) => logEvents(file, readFileSync(join(root, file), 'utf8')));
  const rows = events.map(({ event, level, message }) => `| \`${event}\` | ${level} | ${message} |`);
  return ['| event | level | message |', '|---|---|---|', ...[...new Set(rows)].toSorted()].join('\n');
}

function visit(value: unknown, onNode: (node: Node) => void): void {
  if (Array.isArray(value)) for (const one of value) visit(one, onNode);
  const node = child(value);
  if (node === undefined) return;
  onNode(node);
  for (const one of Object.values(node)) if (typeof one === 'object') visit(one, onNode);
}

const child = (value: unknown): Node | undefined =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
    ? (value as Node)
    : undefined;

const nameOf = (node: Node | undefined): string | undefined =>
  typeof node?.['name'] === 'string' ? node['name'] : undefined;

function propertyOf(object: Node, name: string): Node | undefined {
  const properties = (object['properties'] as unknown[]).map(child);
  return child(properties.find((one) => nameOf(child(one?.['key'])) === name)?.['value']);
}

/** The text of a literal, or of a template without expressions. */
function textOf(node: Node | undefined): string | undefined {
  if (node?.type === 'Literal' && typeof node['value'] === 'string') return node['value'];
  if (node?.type !== 'TemplateLiteral' || (node['expressions'] as unknown[]).length > 0) return undefined;
  const [part] = node['quasis'] as { value: { cooked: string } }[];
  return part?.value.cooked;
}
