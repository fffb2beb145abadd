interface Page {
  readonly next?: string | undefined;
}

/** Asks for a list page by page. Resolves with its entries, which `entriesOf` takes from each page. */
export async function everyPage<P extends Page, T>(
  ask: (page: { readonly after: string | undefined }) => Promise<P>,
  entriesOf: (page: P) => readonly T[],
): Promise<T[]> {
  const all: T[] = [];
  let after: string | undefined;
  for (;;) {
    const page = await ask({ after });
    for (const entry of entriesOf(page)) all.push(entry);
    if (page.next === undefined || page.next === after) return all;
    after = page.next;
  }
}
