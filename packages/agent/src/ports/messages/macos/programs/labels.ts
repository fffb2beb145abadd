import { plainText } from './elements.ts';
import './frameworks.ts';
import type { JxaAccessibility, NativeDictionary } from './jxa-accessibility.ts';
import { refuse } from './refuse.ts';
import type { LabelKey } from './screen-lines.ts';

declare const ObjC: JxaAccessibility['ObjC'];
declare const $: JxaAccessibility['$'];

const TABLES = {
  Accessibility: '/System/iOSSupport/System/Library/AccessibilityBundles/ChatKitFramework.axbundle',
  ChatKit: '/System/iOSSupport/System/Library/PrivateFrameworks/ChatKit.framework',
};

/** Returns a label in the language of the user. */
export function labelOf({ table, key }: LabelKey): string | undefined {
  const bundle = $.NSBundle.bundleWithPath(TABLES[table]);
  if (ObjC.unwrap(bundle) === undefined) return undefined;
  const label = plainText(bundle.localizedStringForKeyValueTable(key, '', table));
  // A missing key is returned as it is.
  return label === key ? undefined : label;
}

/** Returns the language of the labels. */
export function language(): string | undefined {
  const bundle = $.NSBundle.bundleWithPath(TABLES.ChatKit);
  if (ObjC.unwrap(bundle) === undefined) return undefined;
  const languages = bundle.preferredLocalizations;
  return languages.count === 0 ? undefined : plainText(languages.objectAtIndex(0));
}

/** Returns the labels that have this text in a language. */
const labelsWith = (text: string, wanted: string): LabelKey[] =>
  (['Accessibility', 'ChatKit'] as const).flatMap((table) => {
    const bundle = $.NSBundle.bundleWithPath(TABLES[table]);
    if (ObjC.unwrap(bundle) === undefined) return [];
    const path = plainText(bundle.pathForResourceOfType(table, 'loctable'));
    const languages = path === undefined ? undefined : $.NSDictionary.dictionaryWithContentsOfFile(path);
    if (languages === undefined || ObjC.unwrap(languages) === undefined) return [];
    const texts = languages.objectForKey(wanted) as NativeDictionary;
    if (ObjC.unwrap(texts) === undefined) return [];
    const keys = texts.allKeysForObject(text);
    return Array.from({ length: keys.count }, (_, index) => ({
      table,
      key: plainText(keys.objectAtIndex(index)) ?? '',
    }));
  });

export const requireLabel = (key: LabelKey): string => labelOf(key) ?? refuse('no_label');

/**
 * Returns the labels whose English text this is, in the language of the user. The keys of some labels are not known; their
 * English texts are, and the system's own English table has both.
 */
export const labelsOfEnglish = (english: string): string[] =>
  labelsWith(english, 'en')
    .map((label) => labelOf(label) ?? '')
    .filter((label) => label !== '');

/** Returns the keys of a text in the language of the user. Empty: it is not a label of the system. */
export const keysOf = (text: string): string[] =>
  labelsWith(text, language() ?? '').map(({ table, key }) => `${table} ${key}`);
