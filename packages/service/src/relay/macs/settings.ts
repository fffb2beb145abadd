import { wholeNumber } from '../../platform/settings/parsers.ts';
import { settingIn } from '../../platform/settings/setting.ts';

const setting = settingIn('Macs');
const limit = settingIn('Limits');

/** The connections of Macs. */
export const MACS = {
  heartbeatSec: setting(
    'MAC_HEARTBEAT_SEC',
    '15',
    wholeNumber(1, 300),
    'Seconds between pings to a Mac; two unanswered ones end its session.',
  ),
  maxSessions: setting(
    'MAC_MAX_SESSIONS',
    '50000',
    wholeNumber(1, 1_000_000),
    'Macs that may be connected to this node; others get 503 and try again, at another node if there is one.',
  ),
  socketPerMinute: limit(
    'RATE_LIMIT_MAC_SOCKET',
    '30000',
    wholeNumber(1, 10_000_000),
    'Mac connection attempts per minute and address.',
  ),
} as const;
