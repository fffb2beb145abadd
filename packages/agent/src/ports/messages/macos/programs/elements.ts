import './frameworks.ts';
import type { JxaAccessibility, NativeObject } from './jxa-accessibility.ts';
import { refuse } from './refuse.ts';

declare const ObjC: JxaAccessibility['ObjC'];
declare const $: JxaAccessibility['$'];
declare const Ref: JxaAccessibility['Ref'];

const NOT_TRUSTED = -25211;
const MAX_ELEMENTS = 5000;
/** Other people's conversations: private, and slow to read. */
const SKIPPED = new Set(['ConversationList', 'CKConversationListCollectionView']);

export function attribute(element: NativeObject, name: string): unknown {
  const value = Ref();
  const code = $.AXUIElementCopyAttributeValue(element, name, value);
  if (code === NOT_TRUSTED) refuse('not_trusted');
  return code === 0 ? value[0] : undefined;
}

export function plainText(value: unknown): string | undefined {
  const plain = ObjC.unwrap(value);
  if (typeof plain === 'string') return plain;
  if (typeof plain !== 'object' || plain === null) return undefined;
  // Messages gives some texts as an attributed string.
  const text = ObjC.unwrap((plain as { string?: unknown }).string);
  return typeof text === 'string' ? text : undefined;
}

export const textOf = (element: NativeObject, name: string): string | undefined =>
  plainText(attribute(element, name));

export const isTrue = (element: NativeObject, name: string): boolean =>
  Boolean(ObjC.unwrap(attribute(element, name)));

export function elementsOf(element: NativeObject, name: string): NativeObject[] {
  const array = attribute(element, name) as
    | { count: number; objectAtIndex(index: number): NativeObject }
    | undefined;
  const elements: NativeObject[] = [];
  for (let index = 0; index < (array?.count ?? 0); index++) {
    const item = array?.objectAtIndex(index);
    if (item !== undefined) elements.push(item);
  }
  return elements;
}

export const identifierOf = (element: NativeObject): string | undefined => textOf(element, 'AXIdentifier');

export function actionsOf(element: NativeObject): string[] {
  const names = Ref();
  if ($.AXUIElementCopyActionNames(element, names) !== 0) return [];
  const array = names[0] as { count: number; objectAtIndex(index: number): unknown };
  return Array.from({ length: array.count }, (_, index) => plainText(array.objectAtIndex(index)) ?? '');
}

export const isConversationList = (element: NativeObject): boolean =>
  SKIPPED.has(identifierOf(element) ?? '');

/** Returns the elements for which `test` holds, in order, without those inside of the list of conversations. */
export function findAll(root: NativeObject, test: (element: NativeObject) => boolean): NativeObject[] {
  const pending = [root];
  const found: NativeObject[] = [];
  for (let index = 0; index < pending.length && index < MAX_ELEMENTS; index++) {
    const element = pending[index] as NativeObject;
    if (isConversationList(element)) continue;
    if (test(element)) found.push(element);
    pending.push(...elementsOf(element, 'AXChildren'));
  }
  return found;
}

export const withIdentifier = (root: NativeObject, identifier: string): NativeObject[] =>
  findAll(root, (element) => identifierOf(element) === identifier);

export const withRole = (root: NativeObject, role: string): NativeObject[] =>
  findAll(root, (element) => textOf(element, 'AXRole') === role);
