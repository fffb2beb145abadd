import { fail, onOff, seconds, wholeNumber } from '../../platform/settings/parsers.ts';
import { settingIn } from '../../platform/settings/setting.ts';
import type { Findings, ValuesOf } from '../../platform/settings/setting.ts';
import { MESSAGE_TYPE } from '../inbound/settings.ts';
import type { INBOUND } from '../inbound/settings.ts';

const messageTypes = (value: string): string[] => {
  const types = value.split(',').map((type) => type.trim());
  return types.every((type) => MESSAGE_TYPE.test(type))
    ? types
    : fail('must be a list of message types such as SMS,Custom');
};

const setting = settingIn('Limits');
const ofCrm = settingIn('CRM');

/** Which webhooks are accepted. */
export const WEBHOOK = {
  acceptedTypes: ofCrm(
    'CRM_ACCEPTED_TYPES',
    'SMS',
    messageTypes,
    'Values of type that a webhook may have, separated by commas. SMS,Custom serves a CRM that delivers Custom for an added channel.',
  ),
  messageMaxLength: setting(
    'MESSAGE_BODY_MAX_LENGTH_CHARS',
    '20000',
    // A longer message with every character escaped would exceed the frame limit.
    wholeNumber(1, 30_000),
    'Maximum length of a message in UTF-16 code units, including the footer.',
  ),
  messageMaxAgeMs: setting(
    'MESSAGE_MAX_AGE_SEC',
    '0',
    seconds(0, 30 * 86_400),
    'Reject webhooks whose timestamp or dateAdded is older than this many seconds with the code MESSAGE_TOO_OLD: the CRM retries failed webhooks for days. 0: no limit.',
  ),
  webhookPerMinute: setting(
    'RATE_LIMIT_CRM_WEBHOOK',
    '60',
    wholeNumber(1, 1_000_000),
    'Webhooks per minute and location.',
  ),
  validateLocationId: setting(
    'RATE_LIMIT_VALIDATE_LOCATION_ID',
    'true',
    (value) => value !== 'false',
    'Exactly false accepts any locationId as a limiter key; otherwise malformed ones are counted by address.',
  ),
  replayMemory: setting(
    'REPLAY_MEMORY',
    'on',
    onOff,
    'Recognise a webhook without messageId that repeats an earlier one byte for byte within 24 hours: it gets 200 and no second text. off: every webhook is sent.',
  ),
} as const;

/** The type of messages of an added channel at HighLevel. */
const CHANNEL_TYPE = 'Custom';

/** HighLevel accepts incomplete settings of an added channel, and then loses messages in one direction. */
export function channelFindings({
  conversationProviderId,
  inboundType,
  acceptedTypes,
}: Partial<ValuesOf<typeof WEBHOOK & typeof INBOUND>>): Findings {
  if (inboundType === undefined || acceptedTypes === undefined) return {};
  const isChannel = conversationProviderId !== undefined;
  return {
    warnings: [
      ...(inboundType === CHANNEL_TYPE && !isChannel
        ? [
            'CRM_INBOUND_TYPE is Custom without CRM_CONVERSATION_PROVIDER_ID: HighLevel does not store such messages; set the id of the provider',
          ]
        : []),
      ...(isChannel && !acceptedTypes.includes(CHANNEL_TYPE)
        ? [
            'CRM_CONVERSATION_PROVIDER_ID is set, but CRM_ACCEPTED_TYPES has no Custom: webhooks of an added channel get 400; set it to SMS,Custom',
          ]
        : []),
      ...(isChannel && inboundType !== CHANNEL_TYPE
        ? [
            `CRM_CONVERSATION_PROVIDER_ID is set, but CRM_INBOUND_TYPE is ${inboundType}: HighLevel rejects messages of an added channel that are not Custom`,
          ]
        : []),
    ],
  };
}
