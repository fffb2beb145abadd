/** The entry of one version in CHANGELOG.md. */
export interface ChangelogEntry {
  /** The heading with the date of the release. */
  readonly heading: string;
  readonly text: string;
}

/** Returns the entry of a version, with the release date in its heading. Throws if the entry is missing or empty. */
export function changelogEntry(changelog: string, version: string, date: string): ChangelogEntry {
  const sections = changelog.split(/^(?=## )/m);
  const section = sections.find(
    (one) => one.startsWith(`## ${version} `) || one.startsWith(`## ${version}\n`),
  );
  const text = section?.replace(/^## .*\n/, '').trim() ?? '';
  if (text === '') throw new Error(`CHANGELOG.md has no entry for ${version}`);
  return { heading: `## ${version} — ${date}`, text };
}
