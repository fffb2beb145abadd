import type { Environment, Settings as SettingsOf } from '@footbridge/runtime/settings';

import { SETTINGS } from './settings.ts';
import type { Setting } from './settings.ts';

type Settings = Partial<SettingsOf<typeof SETTINGS>>;

/** Settings that have no effect without another one. */
const NEEDS: readonly {
  readonly names: RegExp;
  readonly isMet: (settings: Settings) => boolean;
  readonly without: string;
}[] = [
  {
    names: /^CRM_OAUTH_(CLIENT_ID|CLIENT_SECRET|TOKEN_URL|DATABASE_URL|REFRESH_THRESHOLD_SEC)$/,
    isMet: ({ oauthEnabled }) => oauthEnabled === true,
    without: 'CRM_OAUTH_ENABLED=true',
  },
  {
    names: /^ASSET_S3_/,
    isMet: ({ assetStore }) => assetStore === 's3',
    without: 'ASSET_STORE=s3',
  },
  {
    names: /^NODE_SECRET$/,
    isMet: ({ redisUrl }) => redisUrl !== undefined,
    without: 'REDIS_URL',
  },
  {
    names: /^ALERT_(QUIET_HOURS|REMINDER_HOURS|ALLOW_PRIVATE)$/,
    isMet: ({ alertWebhookUrl, alertSlackUrl, alertTeamsUrl, alertSmtpUrl }) =>
      [alertWebhookUrl, alertSlackUrl, alertTeamsUrl, alertSmtpUrl].some((url) => url !== undefined),
    without: 'an alert receiver (ALERT_SLACK_URL, ALERT_TEAMS_URL, ALERT_WEBHOOK_URL or ALERT_SMTP_URL)',
  },
];

/** Returns a warning for each setting that is present but has no effect. */
export function unusedSettings(settings: Settings, env: Environment): string[] {
  const declared: readonly Setting[] = Object.values(SETTINGS);
  const present = declared.filter(({ name }) => env[name] || env[`${name}_FILE`]);
  const incomplete = NEEDS.filter(({ isMet }) => !isMet(settings)).flatMap(({ names, without }) => {
    const unused = present.map(({ name }) => name).filter((name) => names.test(name));
    return unused.length === 0 ? [] : [`${unused.join(', ')} ${have(unused)} no effect without ${without}`];
  });
  const twice = present
    .filter(({ name, fromFile }) => fromFile === true && env[name] && env[`${name}_FILE`])
    .map(({ name }) => `${name}_FILE has no effect: ${name} is also set and takes precedence`);
  return [...incomplete, ...twice];
}

const have = (names: readonly string[]) => (names.length === 1 ? 'has' : 'have');
