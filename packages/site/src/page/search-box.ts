import MiniSearch from 'minisearch';

/** A section of a page, as `search-index.js` lists them. */
interface Section {
  readonly page: string;
  readonly title: string;
  readonly heading: string;
  readonly anchor: string;
  readonly text: string;
}

declare global {
  var footbridgeSections: readonly Section[] | undefined;
}

const INDEX = 'search-index.js';
const MAX_RESULTS = 12;
const EXCERPT = 140;

type Find = (words: string) => readonly Section[];

/** Starts the search. The index is loaded when the input gets focus. */
export function startSearch(box: HTMLElement): void {
  const input = box.querySelector('input');
  const results = box.querySelector<HTMLElement>('.results');
  if (input === null || results === null) return;
  box.hidden = false;
  let loaded: Promise<Find> | undefined;
  const load = (): Promise<Find> => (loaded ??= loadSections().then(searchIn));

  const close = () => (results.hidden = true);
  const links = () => [...results.querySelectorAll('a')];

  async function search(): Promise<void> {
    const words = input?.value.trim() ?? '';
    if (words === '') return void close();
    const find = await load();
    const found = find(words);
    // The text may have changed while the index was loading.
    if (words === input?.value.trim()) show(found, words);
  }

  function show(found: readonly Section[], words: string): void {
    results?.replaceChildren(
      ...(found.length === 0 ? [`Nothing found for “${words}”.`] : found.map(resultLink)),
    );
    if (results !== null) results.hidden = false;
  }

  input.addEventListener('focus', () => void load());
  input.addEventListener('input', () => void search());
  document.addEventListener('keydown', (event) => {
    if (event.key !== '/' || event.target instanceof HTMLInputElement) return;
    event.preventDefault();
    input.focus();
  });
  document.addEventListener('click', ({ target }) => {
    if (target instanceof Node && !box.contains(target)) close();
  });
  box.addEventListener('keydown', (event) => {
    const all: HTMLElement[] = [input, ...links()];
    const at = all.findIndex((one) => one === document.activeElement);
    if (event.key === 'Escape') close();
    else if (event.key === 'ArrowDown') all[at + 1]?.focus();
    else if (event.key === 'ArrowUp') all[at - 1]?.focus();
    else if (event.key === 'Enter' && at === 0) links()[0]?.click();
    else return;
    event.preventDefault();
  });
}

function searchIn(sections: readonly Section[]): Find {
  const index = new MiniSearch<Section & { readonly id: number }>({
    fields: ['heading', 'title', 'text'],
    // Names such as CRM_PIT_TOKENS can be found as a whole and by their parts.
    tokenize: (text) =>
      text
        .split(/[^\p{L}\p{N}_]+/u)
        .flatMap((word) => [word, ...(word.includes('_') ? word.split('_') : [])]),
    searchOptions: {
      boost: { heading: 4, title: 2 },
      combineWith: 'AND',
      prefix: true,
      fuzzy: (word) => (word.length > 4 ? 0.2 : false),
    },
  });
  index.addAll(sections.map((section, id) => ({ ...section, id })));
  return (words) =>
    index
      .search(words)
      .slice(0, MAX_RESULTS)
      .flatMap(({ id }) => sections[id as number] ?? []);
}

function resultLink({ page, title, heading, anchor, text }: Section): HTMLElement {
  const link = document.createElement('a');
  link.href = `${page}.html#${anchor}`;
  const name = document.createElement('strong');
  name.textContent = heading === title ? title : `${title} › ${heading}`;
  const excerpt = document.createElement('span');
  excerpt.textContent = text.length > EXCERPT ? `${text.slice(0, EXCERPT)}…` : text;
  link.append(name, excerpt);
  return link;
}

function loadSections(): Promise<readonly Section[]> {
  return new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = INDEX;
    script.addEventListener('load', () => resolve(globalThis.footbridgeSections ?? []));
    script.addEventListener('error', () => reject(new Error(`${INDEX} could not be loaded`)));
    document.head.append(script);
  });
}
