import { choice, wholeNumber } from '../../platform/settings/parsers.ts';
import { settingIn } from '../../platform/settings/setting.ts';

const setting = settingIn('Limits');
const ofMacs = settingIn('Macs');

/** Who may enrol and own a location. */
export const ACCOUNTS = {
  enrolmentPerMinute: setting(
    'RATE_LIMIT_ENROLMENT',
    '6000',
    wholeNumber(1, 1_000_000),
    'Mac activations per minute and address; wrong license keys lock the address out sooner.',
  ),
  locationClaim: ofMacs(
    'LOCATION_CLAIM',
    'auto',
    choice('auto', 'first', 'operator'),
    'Which license may take a location without an owner. auto: any while there is a single license; from the second license on the operator assigns it (footbridge location assign, footbridge device pair). first: the first one whose Mac registers for it, which can then read the texts of a later tenant. operator: only the one the operator assigns.',
  ),
} as const;
