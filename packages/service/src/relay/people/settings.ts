import { matching } from '../../platform/settings/parsers.ts';
import { settingIn } from '../../platform/settings/setting.ts';

const setting = settingIn('Limits');

/** How phone numbers are read. */
export const PEOPLE = {
  phoneDefaultCountry: setting(
    'PHONE_DEFAULT_COUNTRY',
    'US',
    matching(/^[A-Z]{2}$/, 'must be a two-letter country code'),
    'Country of phone numbers written without a country code.',
  ),
} as const;
