/** Resolves with the number of event loop turns until the promise that `act` returns is settled. */
export async function turnsDuring(act: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let next = setImmediate(count);
  function count(): void {
    turns++;
    next = setImmediate(count);
  }
  try {
    await act();
  } finally {
    clearImmediate(next);
  }
  return turns;
}
