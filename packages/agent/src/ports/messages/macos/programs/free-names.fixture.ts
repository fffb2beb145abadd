import { parseSync } from 'oxc-parser';

type Node = { readonly type: string } & Readonly<Record<string, unknown>>;

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';

const childrenOf = (node: Node): Node[] => Object.values(node).flat().filter(isNode);

function parse(source: string): Node {
  const { program, errors } = parseSync('program.js', source, { sourceType: 'script' });
  if (errors.length > 0) throw new Error(errors.map(({ message }) => message).join('; '));
  const root: unknown = program;
  if (!isNode(root)) throw new Error('not a program');
  return root;
}

const FUNCTIONS = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression']);
const SCOPES = new Set([
  ...FUNCTIONS,
  'Program',
  'BlockStatement',
  'ForStatement',
  'ForInStatement',
  'ForOfStatement',
  'CatchClause',
  'SwitchStatement',
]);

/** Returns the names that a pattern declares. */
function namesIn(pattern: unknown): string[] {
  if (!isNode(pattern)) return [];
  if (pattern.type === 'Identifier') return [String(pattern['name'])];
  if (pattern.type === 'Property') return namesIn(pattern['value']);
  if (pattern.type === 'AssignmentPattern') return namesIn(pattern['left']);
  return childrenOf(pattern).flatMap(namesIn);
}

/** Returns what is declared directly in a scope. `var` does not occur in the programs. */
function declaredIn(scope: Node): string[] {
  const own = FUNCTIONS.has(scope.type) ? [scope['params'], scope['id']].flat().flatMap(namesIn) : [];
  if (scope.type === 'FunctionExpression') own.push('arguments');
  if (scope.type === 'CatchClause') own.push(...namesIn(scope['param']));
  for (const node of childrenOf(scope)) {
    if (node.type === 'VariableDeclaration') {
      if (node['kind'] === 'var') throw new Error('var is not analysed');
      own.push(...childrenOf(node).flatMap(({ id }) => namesIn(id)));
    }
    if (node.type === 'FunctionDeclaration' || node.type === 'ClassDeclaration')
      own.push(...namesIn(node['id']));
  }
  return own;
}

/** The children of a node that can be references, without names of properties and labels. */
function referencesIn(node: Node): Node[] {
  const { computed } = node;
  if (node.type === 'MemberExpression' && computed !== true) return [node['object']].filter(isNode);
  if (['Property', 'MethodDefinition', 'PropertyDefinition'].includes(node.type) && computed !== true)
    return [node['value']].filter(isNode);
  if (['BreakStatement', 'ContinueStatement'].includes(node.type)) return [];
  if (node.type === 'LabeledStatement') return [node['body']].filter(isNode);
  return childrenOf(node);
}

/** Returns the names that a script uses without declaring them. */
export function freeNames(source: string): string[] {
  const free = new Set<string>();
  const visit = (node: Node, known: ReadonlySet<string>): void => {
    const inside = SCOPES.has(node.type) ? new Set([...known, ...declaredIn(node)]) : known;
    if (node.type === 'Identifier' && !inside.has(String(node['name']))) free.add(String(node['name']));
    for (const child of referencesIn(node)) visit(child, inside);
  };
  visit(parse(source), new Set());
  return [...free].toSorted();
}

/** Syntax of later editions, by the type of its node. */
const LATER = new Set([
  'PropertyDefinition',
  'PrivateIdentifier',
  'StaticBlock',
  'AccessorProperty',
  'Decorator',
]);

/** Returns the syntax in a script that ES2021 does not have. */
export function laterSyntax(source: string): string[] {
  const later = new Set<string>();
  const visit = (node: Node): void => {
    if (LATER.has(node.type)) later.add(node.type);
    const { regex } = node as { regex?: { flags: string } };
    if (regex !== undefined && /[dv]/.test(regex.flags)) later.add(`regular expression with ${regex.flags}`);
    if (node.type === 'VariableDeclaration' && !['const', 'let', 'var'].includes(String(node['kind'])))
      later.add(String(node['kind']));
    for (const child of childrenOf(node)) visit(child);
  };
  visit(parse(source));
  return [...later];
}
