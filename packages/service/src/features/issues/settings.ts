import { parseQuietHours } from '@footbridge/runtime/quiet-hours';
import type { QuietHours } from '@footbridge/runtime/quiet-hours';

import { fail, flag, isPercentEncoded, matching, wholeNumber } from '../../platform/settings/parsers.ts';
import { SECRET, settingIn, without } from '../../platform/settings/setting.ts';
import type { Findings, Given, ValuesOf } from '../../platform/settings/setting.ts';

/** The address of a receiver of alerts. It is often a secret: the message never quotes it. */
const receiverUrl = (value: string): URL => {
  const url = URL.parse(value);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.hash !== '')
    return fail('must be an http(s) address without credentials or fragment');
  return url;
};

const smtpUrl = (value: string): URL => {
  const url = URL.parse(value);
  if (url === null || !/^smtps?:$/.test(url.protocol) || url.hostname === '')
    return fail('must be the address of a mail server, such as smtps://user:password@mail.example.com');
  return [url.username, url.password].every(isPercentEncoded)
    ? url
    : fail('must have its user name and password percent-encoded');
};

/** A secret of Standard Webhooks: `whsec_` and 24 to 64 bytes in base64. */
const webhookSecret = (value: string): Buffer => {
  const [, encoded] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(value) ?? [];
  const secret = Buffer.from(encoded ?? '', 'base64');
  return secret.length >= 24 && secret.length <= 64
    ? secret
    : fail('must be whsec_ followed by 24 to 64 random bytes in base64');
};

const MAIL_ADDRESS = /^[^\s,<>@]+@[^\s,<>@]+$/;

const mailAddresses = (value: string): string[] => {
  const list = value.split(',').map((address) => address.trim());
  return list.every((address) => MAIL_ADDRESS.test(address))
    ? list
    : fail('must be a list of mail addresses such as ops@example.com');
};

const quietHours = (value: string): QuietHours =>
  parseQuietHours(value, 'UTC') ??
  fail('must be two times of day and a time zone, such as 22:00-07:00 Europe/Berlin');

/** Parses hours to milliseconds. Null: no reminders. */
const reminder = (value: string) => {
  const hours = wholeNumber(0, 720)(value);
  return hours === 0 ? null : hours * 3_600_000;
};

const setting = settingIn('Alerts');

/** Who is told about issues. */
export const ALERTS = {
  alertWebhookUrl: setting(
    'ALERT_WEBHOOK_URL',
    undefined,
    receiverUrl,
    'Receives each change of an issue as a signed request in the format of Standard Webhooks.',
    SECRET,
  ),
  alertWebhookSecret: setting(
    'ALERT_WEBHOOK_SECRET',
    undefined,
    webhookSecret,
    'Secret of the signatures for ALERT_WEBHOOK_URL: whsec_ and the output of openssl rand -base64 32.',
    SECRET,
  ),
  alertSlackUrl: setting(
    'ALERT_SLACK_URL',
    undefined,
    receiverUrl,
    'Incoming webhook of a Slack channel.',
    SECRET,
  ),
  alertTeamsUrl: setting(
    'ALERT_TEAMS_URL',
    undefined,
    receiverUrl,
    'Incoming webhook of a Teams channel, made with Workflows.',
    SECRET,
  ),
  alertSmtpUrl: setting(
    'ALERT_SMTP_URL',
    undefined,
    smtpUrl,
    'Mail server for alerts: smtps:// for TLS, smtp:// for STARTTLS, with user name and password if it requires them.',
    SECRET,
  ),
  alertEmailFrom: setting(
    'ALERT_EMAIL_FROM',
    undefined,
    matching(MAIL_ADDRESS, 'must be a mail address such as footbridge@example.com'),
    'Sender of alerts by mail. Required with ALERT_SMTP_URL.',
  ),
  alertEmailTo: setting(
    'ALERT_EMAIL_TO',
    undefined,
    mailAddresses,
    'Recipients of alerts by mail, separated by commas. Required with ALERT_SMTP_URL.',
  ),
  alertQuietHours: setting(
    'ALERT_QUIET_HOURS',
    undefined,
    quietHours,
    'Hours without alerts, such as 22:00-07:00 Europe/Berlin; UTC unless a time zone is given. What happens during these hours is sent afterwards, as a digest.',
  ),
  alertReminderMs: setting(
    'ALERT_REMINDER_HOURS',
    '24',
    reminder,
    'Hours after which an open issue is sent again; 0: never.',
  ),
  alertAllowPrivate: setting(
    'ALERT_ALLOW_PRIVATE',
    'false',
    flag,
    'Allow receivers with private addresses and http: addresses.',
  ),
} as const;

export type AlertSettings = ValuesOf<typeof ALERTS>;

export function alertFindings(settings: Partial<AlertSettings>, given: Given): Findings {
  const { alertWebhookUrl, alertSlackUrl, alertTeamsUrl, alertSmtpUrl } = settings;
  const together = [
    ['ALERT_WEBHOOK_URL', alertWebhookUrl, 'ALERT_WEBHOOK_SECRET', settings.alertWebhookSecret],
    ['ALERT_SMTP_URL', alertSmtpUrl, 'ALERT_EMAIL_FROM', settings.alertEmailFrom],
    ['ALERT_SMTP_URL', alertSmtpUrl, 'ALERT_EMAIL_TO', settings.alertEmailTo],
  ] as const;
  const addresses = {
    ALERT_WEBHOOK_URL: alertWebhookUrl,
    ALERT_SLACK_URL: alertSlackUrl,
    ALERT_TEAMS_URL: alertTeamsUrl,
  };
  const isOpen = (url: URL | undefined) => url?.protocol === 'http:' && settings.alertAllowPrivate !== true;
  const hasReceiver = [alertWebhookUrl, alertSlackUrl, alertTeamsUrl, alertSmtpUrl].some(
    (url) => url !== undefined,
  );
  return {
    problems: [
      ...together.flatMap(([one, first, other, second]) => {
        if ((first === undefined) === (second === undefined)) return [];
        return first === undefined ? `${one} is required with ${other}` : `${other} is required with ${one}`;
      }),
      ...Object.entries(addresses)
        .filter(([, url]) => isOpen(url))
        .map(
          ([name]) =>
            `${name} must be an https: address; set ALERT_ALLOW_PRIVATE=true for a private receiver`,
        ),
    ],
    warnings: hasReceiver
      ? []
      : without(
          'an alert receiver (ALERT_SLACK_URL, ALERT_TEAMS_URL, ALERT_WEBHOOK_URL or ALERT_SMTP_URL)',
          given,
          /^ALERT_(QUIET_HOURS|REMINDER_HOURS|ALLOW_PRIVATE)$/,
        ),
  };
}
