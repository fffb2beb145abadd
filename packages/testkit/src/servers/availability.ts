const told = new Set<string>();

/**
 * Whether a suite that needs this server can run. If not, it says so in one line that stands out; where CI is true a
 * suite that silently did not run would be a lie, so there it is an error.
 */
export async function available(what: string, find: () => Promise<unknown>): Promise<boolean> {
  try {
    await find();
    return true;
  } catch (error) {
    if (process.env['CI'] === 'true') {
      throw new Error(`No ${what}, and CI demands it.`, { cause: error });
    }
    if (!told.has(what)) process.stderr.write(`skipped: no ${what}\n`);
    told.add(what);
    return false;
  }
}
