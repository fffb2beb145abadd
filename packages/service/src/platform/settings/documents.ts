import { SETTINGS } from './settings.ts';
import type { Setting } from './settings.ts';

const groups = (): Map<string, Setting[]> =>
  Map.groupBy(Object.values(SETTINGS), (setting: Setting) => setting.group);

/** The text of `.env.example`: every setting, commented out, with its default. */
export function envExample(): string {
  const blocks = [...groups()].map(([group, settings]) =>
    [
      `# ${group}`,
      ...settings.flatMap((setting) => [`# ${setting.about}`, `#${setting.name}=${setting.fallback ?? ''}`]),
    ].join('\n'),
  );
  return `# Settings of the service, with their defaults. Secrets and keys may also be given as NAME_FILE with the path of a file.\n\n${blocks.join('\n\n')}\n`;
}

/** The text of `docs/configuration.md`. */
export function configurationPage(): string {
  const tables = [...groups()].map(([group, settings]) => {
    const rows = settings.map((setting) => {
      const shown = setting.fallback === undefined ? '' : `\`${setting.fallback}\``;
      const marks = setting.secret ? ' Secret.' : '';
      const alias = setting.alias === undefined ? '' : ` Also \`${setting.alias}\`, which wins.`;
      const file = setting.fromFile ? ` Also \`${setting.name}_FILE\`.` : '';
      return `| \`${setting.name}\` | ${shown} | ${setting.about}${marks}${alias}${file} |`;
    });
    return `## ${group}\n\n| setting | default | meaning |\n|---|---|---|\n${rows.join('\n')}\n`;
  });
  return `# Configuration\n\n<!-- Made from packages/service/src/platform/settings/settings.ts by \`npm run check -- --write\`. -->\n\nThe service reads its settings from the environment, once, at the start. Invalid values stop it with exit code 3 and one line per problem; a name that looks like a setting but is not one is reported as a warning. An empty value counts as not set.\n\n${tables.join('\n')}`;
}
