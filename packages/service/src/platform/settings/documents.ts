import { CHAPTERS } from './setting.ts';
import type { Setting } from './setting.ts';

/** Settings of several parts that are listed in this order, at the beginning of their chapter. */
const FIRST = `
DATA_DIR DATABASE_URL REDIS_URL NODE_SECRET JOURNAL_RETENTION_DAYS CRM_HOSTNAME CRM_PUBLIC_KEY
CRM_LEGACY_PUBLIC_KEY CRM_KEYS_FILE CRM_ACCEPTED_TYPES CRM_CONVERSATION_PROVIDER_ID CRM_INBOUND_TYPE
CRM_SEND_ALT_ID CRM_API_VERSION STATUS_WITH_GUID CRM_MIRROR_SENT OPT_OUT_WORDS OPT_OUT_ENFORCED
CRM_REACH_FIELD_ID CRM_CREATE_CONTACTS CRM_UPLOAD_ATTACHMENTS FOOTER_ON_PLAIN_TEXT
INBOUND_ON_UNCERTAIN MESSAGE_BODY_MAX_LENGTH_CHARS MESSAGE_MAX_AGE_SEC PHONE_DEFAULT_COUNTRY
RATE_LIMIT_CRM_WEBHOOK RATE_LIMIT_VALIDATE_LOCATION_ID REPLAY_MEMORY RATE_LIMIT_CRM_CALLS
RATE_LIMIT_UNSIGNED RATE_LIMIT_OAUTH_CALLBACK RATE_LIMIT_HEALTH RATE_LIMIT_HEALTH_PROBE
RATE_LIMIT_ENROLMENT
`.split(/\s+/);

const place = ({ name }: Setting): number => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length);

const chaptersOf = (settings: readonly Setting[]) =>
  CHAPTERS.map((chapter) => ({
    chapter,
    settings: settings
      .filter((setting) => setting.chapter === chapter)
      .toSorted((one, other) => place(one) - place(other)),
  }));

/** The text of `.env.example`: every setting, commented out, with its default. */
export function envExample(all: readonly Setting[]): string {
  const blocks = chaptersOf(all).map(({ chapter, settings }) =>
    [
      `# ${chapter}`,
      ...settings.flatMap((setting) => [`# ${setting.about}`, `#${setting.name}=${setting.fallback ?? ''}`]),
    ].join('\n'),
  );
  return `# Settings of the service, with their defaults. Secrets and keys may also be given as NAME_FILE with the path of a file.\n\n${blocks.join('\n\n')}\n`;
}

/** The text of `docs/configuration.md`. */
export function configurationPage(all: readonly Setting[]): string {
  const tables = chaptersOf(all).map(({ chapter, settings }) => {
    const rows = settings.map((setting) => {
      const shown = setting.fallback === undefined ? '' : `\`${setting.fallback}\``;
      const marks = setting.secret ? ' Secret.' : '';
      const alias = setting.alias === undefined ? '' : ` Also \`${setting.alias}\`, which wins.`;
      const file = setting.fromFile ? ` Also \`${setting.name}_FILE\`.` : '';
      return `| \`${setting.name}\` | ${shown} | ${setting.about}${marks}${alias}${file} |`;
    });
    return `## ${chapter}\n\n| setting | default | meaning |\n|---|---|---|\n${rows.join('\n')}\n`;
  });
  return `# Configuration\n\n<!-- Made from the files settings.ts of packages/service/src by \`npm run check -- --write\`. -->\n\nThe service reads its settings from the environment, once, at the start. Invalid values stop it with exit code 3 and one line per problem; a name that looks like a setting but is not one is reported as a warning. An empty value counts as not set.\n\n${tables.join('\n')}`;
}
