/** What the archive of a package may contain. The change that adds a dependency or a file type must add it here. */
export interface ArchiveRules {
  /** Files that must be present. */
  readonly required: readonly string[];
  /** Every file outside node_modules must match one of these patterns. */
  readonly allowed: readonly string[];
  /** All packages in its node_modules. */
  readonly bundled: readonly string[];
  readonly maxMegabytes: number;
}

/** Files that must not be in any archive: tests, sources, settings, keys, data. */
const FORBIDDEN =
  /(?:\.(?:test|contract|fixture|bench)\.|(?:^|\/)\.env|\.sqlite|\.tsx?$(?<!\.d\.ts)|operator-token$|journal-key$)/;

/** Returns one line for each difference between the files of an archive and its rules. */
export function contentFaults(
  files: readonly { readonly path: string; readonly size: number }[],
  rules: ArchiveRules,
): string[] {
  const paths = files.map(({ path }) => path);
  const own = paths.filter((path) => !path.startsWith('node_modules/'));
  const patterns = rules.allowed.map(patternOf);
  const bundled = new Set(
    paths.flatMap((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []),
  );
  const megabytes = files.reduce((sum, { size }) => sum + size, 0) / 1e6;
  return [
    ...rules.required.filter((path) => !paths.includes(path)).map((path) => `${path} is missing`),
    ...own.filter((path) => FORBIDDEN.test(path)).map((path) => `${path} must not be published`),
    ...own
      .filter((path) => !patterns.some((pattern) => pattern.test(path)))
      .map((path) => `${path} is not on the list`),
    ...[...bundled]
      .filter((name) => !rules.bundled.includes(name))
      .map((name) => `the dependency ${name} is not on the list`),
    ...rules.bundled.filter((name) => !bundled.has(name)).map((name) => `the dependency ${name} is missing`),
    ...(megabytes > rules.maxMegabytes
      ? [`it is ${megabytes.toFixed(1)} MB, more than ${rules.maxMegabytes} MB`]
      : []),
  ];
}

/** `*` matches part of a name, `**` any path. */
const patternOf = (glob: string): RegExp =>
  new RegExp(
    `^${glob
      .split('**')
      .map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`).replaceAll('*', '[^/]*'))
      .join('.*')}$`,
  );
