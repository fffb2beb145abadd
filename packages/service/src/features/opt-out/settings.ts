import { flag } from '../../platform/settings/parsers.ts';
import { settingIn } from '../../platform/settings/setting.ts';

const setting = settingIn('CRM');

/** How opt-outs are learned and enforced. */
export const OPT_OUT = {
  optOutWords: setting(
    'OPT_OUT_WORDS',
    'false',
    flag,
    'When a customer sends only STOP, or another common opt-out word, remember it and set do not disturb for SMS in the CRM; START reverses both. Needs the scope contacts.write.',
  ),
  optOutEnforced: setting(
    'OPT_OUT_ENFORCED',
    'false',
    flag,
    'Reject webhooks to people who opted out, with STOP or by do not disturb in the CRM, with the code OPTED_OUT. false: the CRM decides.',
  ),
} as const;
