import { wholeNumber } from '../../platform/settings/parsers.ts';
import { settingIn } from '../../platform/settings/setting.ts';

const setting = settingIn('Storage');

/** How long messages are kept. */
export const JOURNAL = {
  journalDays: setting(
    'JOURNAL_RETENTION_DAYS',
    '30',
    wholeNumber(1, 3650),
    'Days to keep the journal (metadata, never text) and the GUIDs of inbound messages.',
  ),
} as const;
