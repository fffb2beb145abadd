import { fail } from '../../platform/settings/parsers.ts';
import { settingIn } from '../../platform/settings/setting.ts';

const FIELD_ID = /^[A-Za-z0-9_-]{1,64}$/;

/** Parses the id of a custom field, stored under `*` for all locations, or a list `location=id,location=id`. */
const fieldIds = (value: string): ReadonlyMap<string, string> => {
  const pairs = (FIELD_ID.test(value) ? `*=${value}` : value)
    .split(',')
    .map((pair) => pair.trim().split('='));
  return pairs.every(([location, id = '', ...rest]) => location && FIELD_ID.test(id) && rest.length === 0)
    ? new Map(pairs.map(([location = '', id = '']) => [location, id]))
    : fail('must be the id of a custom field, or a list such as loc1=id1,loc2=id2');
};

const setting = settingIn('CRM');

/** Where the reach of contacts is written. */
export const REACH = {
  reachFields: setting(
    'CRM_REACH_FIELD_ID',
    undefined,
    fieldIds,
    'Id of a custom field of contacts into which the service writes iMessage, SMS or unknown when it learns how a contact can be reached. Field ids differ between sub-accounts: use a list such as loc1=id1,loc2=id2. Needs the scope contacts.write.',
  ),
} as const;
