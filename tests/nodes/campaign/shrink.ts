/**
 * Returns a shorter list that still fails, by delta debugging: drops ever smaller parts and keeps what is left when that fails. Ends when
 * no single item can be dropped, or after `budget` trials. Resolves with undefined if the whole list does not fail.
 */
export async function shrink<T>(
  items: readonly T[],
  fails: (candidate: readonly T[]) => Promise<boolean>,
  { budget }: { readonly budget: number },
): Promise<T[] | undefined> {
  const trials = { left: budget };
  const isFailing = async (candidate: readonly T[]) => {
    trials.left--;
    return fails(candidate);
  };
  if (!(await isFailing(items))) return undefined;
  let current = [...items];
  let parts = 2;
  while (current.length > 0 && trials.left > 0) {
    const size = Math.ceil(current.length / parts);
    const shorter = await firstFailing(withoutPart(current, size), isFailing, () => trials.left > 0);
    if (shorter !== undefined) {
      current = shorter;
      parts = Math.max(2, parts - 1);
    } else if (size === 1) break;
    else parts = Math.min(current.length, parts * 2);
  }
  return current;
}

function* withoutPart<T>(items: readonly T[], size: number): Generator<T[]> {
  for (let start = 0; start < items.length; start += size)
    yield [...items.slice(0, start), ...items.slice(start + size)];
}

async function firstFailing<T>(
  candidates: Iterable<T[]>,
  fails: (candidate: readonly T[]) => Promise<boolean>,
  mayGoOn: () => boolean,
): Promise<T[] | undefined> {
  for (const candidate of candidates) {
    if (!mayGoOn()) return undefined;
    if (await fails(candidate)) return candidate;
  }
  return undefined;
}
