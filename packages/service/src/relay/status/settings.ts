import { flag } from '../../platform/settings/parsers.ts';
import { settingIn } from '../../platform/settings/setting.ts';

const setting = settingIn('CRM');

/** What the CRM learns about a message. */
export const STATUS = {
  statusWithGuid: setting(
    'STATUS_WITH_GUID',
    'false',
    flag,
    'Add messageGuid, the GUID of the sent message, to the status delivered. A reaction to that message needs it.',
  ),
} as const;
