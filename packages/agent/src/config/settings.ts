import { homedir } from 'node:os';
import { join } from 'node:path';

import { asDeviceId, asLocationId } from '@footbridge/protocol/ids';
import { parseQuietHours } from '@footbridge/runtime/quiet-hours';
import { SettingError } from '@footbridge/runtime/settings';
import type { Setting } from '@footbridge/runtime/settings';
import { isMacosVersion, MACOS_VERSION_RULE } from '@footbridge/simulator/simulation';

import { loopbackOrigin } from './loopback-origin.ts';

/** A parser that fails with `rule` where `parse` returns undefined. */
const checked =
  <T>(rule: string, parse: (text: string) => T | undefined) =>
  (given: string): T => {
    const value = parse(given);
    if (value === undefined) throw new SettingError(rule);
    return value;
  };

const url: Setting<string> = {
  name: 'FOOTBRIDGE_URL',
  flag: '--url <url>',
  about: 'URL of the service',
  parse: checked('must be an http or https URL', (value) => {
    const protocol = URL.parse(value)?.protocol;
    return protocol === 'http:' || protocol === 'https:' ? value.replace(/\/+$/, '') : undefined;
  }),
};

const notBlank = (value: string): string | undefined => value.trim() || undefined;

type WithDefault<T> = Setting<T> & { readonly fallback: string };

function text(
  name: string,
  flag: string | undefined,
  about: string,
  more: Partial<Setting<string>> & { readonly fallback: string },
): WithDefault<string>;
function text(
  name: string,
  flag: string | undefined,
  about: string,
  more?: Partial<Setting<string>>,
): Setting<string>;
function text(
  name: string,
  flag: string | undefined,
  about: string,
  more: Partial<Setting<string>> = {},
): Setting<string> {
  return {
    name,
    ...(flag === undefined ? {} : { flag }),
    about,
    parse: checked('must not be blank', notBlank),
    ...more,
  };
}

function bool(
  name: string,
  flag: string | undefined,
  about: string,
  fallback: boolean,
): WithDefault<boolean> {
  return {
    name,
    ...(flag === undefined ? {} : { flag }),
    about,
    fallback: String(fallback),
    parse: checked('must be true or false', (value) =>
      value === 'true' ? true : value === 'false' ? false : undefined,
    ),
  };
}

/** Given in seconds, parsed to milliseconds. */
function seconds(name: string, about: string, fallback: number): WithDefault<number> {
  return {
    name,
    about: `${about}, in seconds`,
    fallback: String(fallback),
    parse: checked('must be a number of seconds above 0', (value) =>
      Number(value) > 0 ? Number(value) * 1000 : undefined,
    ),
  };
}

function count(
  name: string,
  flag: string | undefined,
  about: string,
  fallback: string,
  max: number,
): WithDefault<number> {
  return {
    name,
    ...(flag === undefined ? {} : { flag }),
    about,
    fallback,
    parse: checked(`must be a whole number from 0 to ${max}`, (value) =>
      /^\d+$/.test(value) && Number(value) <= max ? Number(value) : undefined,
    ),
  };
}

/** `1000-3000`, or one number. */
function range(given: string): { minMs: number; maxMs: number } | undefined {
  const [, min, max = min] = /^(\d{1,6})(?:-(\d{1,6}))?$/.exec(given) ?? [];
  const [minMs, maxMs] = [Number(min), Number(max)];
  return min !== undefined && minMs <= maxMs && maxMs <= 600_000 ? { minMs, maxMs } : undefined;
}

/** `5,10,20` */
function numbers(given: string): readonly number[] | undefined {
  const list = given.split(',').map((entry) => (/^\s*\d{1,6}\s*$/.test(entry) ? Number(entry) : 0));
  return list.length <= 60 && list.every((number) => number >= 1 && number <= 100_000) ? list : undefined;
}

/** Every setting of the agent. The commands, the reader and the test of the documentation use this table. */
export const SETTINGS = {
  url,
  license: text('FOOTBRIDGE_LICENSE', '--license <key>', 'license key, needed for the first start', {
    secret: true,
    fromFile: true,
  }),
  location: text('FOOTBRIDGE_LOCATION', '--location <id>', 'CRM location that this Mac serves', {
    parse: checked('must not be blank', asLocationId),
  }),
  dataDir: text(
    'FOOTBRIDGE_AGENT_DIR',
    '--data-dir <folder>',
    'data folder for the journal, the token and the device id',
    {
      fallback: defaultDataDir(),
    },
  ),
  deviceId: text(
    'FOOTBRIDGE_DEVICE_ID',
    '--device-id <id>',
    'stable id of this Mac; generated and saved by default',
    {
      parse: checked('must be 8 to 128 characters of A–Z a–z 0–9 . _ : -', asDeviceId),
    },
  ),
  simulate: bool(
    'FOOTBRIDGE_SIMULATE',
    '--simulate',
    'use a simulated Messages instead of the real one',
    false,
  ),
  macos: text('FOOTBRIDGE_MACOS', '--macos <version>', 'macOS version to simulate', {
    fallback: '26.1',
    parse: checked(MACOS_VERSION_RULE, (value) => (isMacosVersion(value) ? value : undefined)),
  }),
  controlPort: count(
    'FOOTBRIDGE_CONTROL_PORT',
    '--control-port <port>',
    'port of the simulator’s control API on 127.0.0.1; 0 picks a free port',
    '4630',
    65_535,
  ),
  allowLoopback: bool(
    'FOOTBRIDGE_ALLOW_LOOPBACK',
    '--allow-loopback',
    'allow attachments from this machine (for tests and the demo)',
    false,
  ),
  channel: {
    name: 'FOOTBRIDGE_CHANNEL',
    flag: '--channel <mode>',
    about:
      'auto: iMessage, and SMS for a number that is not on it; path: the service that the webhook path names',
    fallback: 'auto',
    parse: checked('must be auto or path', (value): 'auto' | 'path' | undefined =>
      value === 'auto' || value === 'path' ? value : undefined,
    ),
  },
  engine: {
    name: 'FOOTBRIDGE_ENGINE',
    flag: '--engine <name>',
    about: 'macos: the agent controls Messages itself; bluebubbles: through a BlueBubbles server on this Mac',
    fallback: 'macos',
    parse: checked('must be macos or bluebubbles', (value): 'macos' | 'bluebubbles' | undefined =>
      value === 'macos' || value === 'bluebubbles' ? value : undefined,
    ),
  },
  bluebubblesUrl: {
    name: 'FOOTBRIDGE_BLUEBUBBLES_URL',
    about: 'address of BlueBubbles on this Mac',
    fallback: 'http://127.0.0.1:1234',
    parse: checked(
      'must be an http URL of this Mac, such as http://127.0.0.1:1234: the agent reads the messages of this Mac, and BlueBubbles on another machine would send from another account and get its password unencrypted',
      loopbackOrigin,
    ),
  },
  bluebubblesPasswordFile: {
    name: 'FOOTBRIDGE_BLUEBUBBLES_PASSWORD_FILE',
    about: 'file with the password of BlueBubbles, which only its owner can read',
    parse: checked('must not be blank', notBlank),
  },
  uiAutomation: bool(
    'FOOTBRIDGE_UI_AUTOMATION',
    undefined,
    'allow reactions, replies, effects, stickers and new groups, which use UI automation',
    true,
  ),
  logLevel: text(
    'FOOTBRIDGE_LOG_LEVEL',
    '--log-level <level>',
    'log level: debug, info, warn, error or silent',
    {
      fallback: 'info',
      parse: checked('must be debug, info, warn, error or silent', (value) =>
        ['debug', 'info', 'warn', 'error', 'silent'].includes(value) ? value : undefined,
      ),
    },
  ),
  logFile: text(
    'FOOTBRIDGE_LOG_FILE',
    undefined,
    'file for the log, rotated at 10 MB, with three old files kept; by default the log goes to standard output',
  ),
  programs: text(
    'FOOTBRIDGE_PROGRAMS',
    undefined,
    'folder with programs to use instead of those of macOS, for tests on other systems',
  ),
  queueLimit: count('FOOTBRIDGE_QUEUE_LIMIT', undefined, 'maximum number of queued jobs', '500', 100_000),
  sendGap: {
    name: 'FOOTBRIDGE_SEND_GAP_MS',
    about:
      'pause between two sends in milliseconds: a number, or a range from which each pause is chosen at random; 1000-3000 by default, 0 with simulated Messages',
    parse: checked('must be a number of milliseconds up to 600000, or a range such as 1000-3000', range),
  },
  newPerHour: count(
    'FOOTBRIDGE_NEW_PER_HOUR',
    undefined,
    'maximum number of conversations that the Mac begins in an hour; 0 for no limit',
    '0',
    100_000,
  ),
  newPerDay: count(
    'FOOTBRIDGE_NEW_PER_DAY',
    undefined,
    'maximum number of conversations that the Mac begins in a day; 0 for no limit',
    '0',
    100_000,
  ),
  warmUp: {
    name: 'FOOTBRIDGE_WARM_UP',
    about:
      'maximum number of conversations that a new line begins on each of its first days, such as 5,10,20,40; the first day begins with the first send',
    parse: checked('must be up to 60 numbers from 1 to 100000, such as 5,10,20,40', numbers),
  },
  maxUnanswered: count(
    'FOOTBRIDGE_MAX_UNANSWERED',
    undefined,
    'maximum number of messages to one person without a reply, over 30 days; 0 for no limit',
    '0',
    50,
  ),
  maxAnswers: count(
    'FOOTBRIDGE_MAX_ANSWERS',
    undefined,
    'maximum number of answers to one person in ten minutes, so that two programs do not reply to each other endlessly; 0 for no limit',
    '0',
    50,
  ),
  limitWaitMs: seconds(
    'FOOTBRIDGE_LIMIT_WAIT_SEC',
    'time a message over one of these limits waits in the queue before it fails',
    3600,
  ),
  heartbeatMs: seconds(
    'FOOTBRIDGE_HEARTBEAT_SEC',
    'ping interval of the service (its MAC_HEARTBEAT_SEC)',
    15,
  ),
  confirmMs: seconds('FOOTBRIDGE_CONFIRM_SEC', 'time for a reaction to appear in Messages', 2),
  sendLimitMs: seconds(
    'FOOTBRIDGE_SEND_LIMIT_SEC',
    'timeout of a send, after which its outcome is unknown',
    300,
  ),
  forwardFiltered: bool(
    'FOOTBRIDGE_FORWARD_FILTERED',
    undefined,
    'report messages that Messages filed under unknown senders or junk',
    true,
  ),
  mirror: bool(
    'FOOTBRIDGE_MIRROR',
    undefined,
    'report messages that the owner types on this Mac or another device, if the service accepts them (CRM_MIRROR_SENT)',
    false,
  ),
  canaryMinutes: count(
    'FOOTBRIDGE_CANARY_MINUTES',
    undefined,
    'minutes between test texts that this Mac sends to its own number to check that iMessage works; 0 for none',
    '0',
    10_080,
  ),
  canaryQuiet: {
    name: 'FOOTBRIDGE_CANARY_QUIET',
    about: 'hours during which no test text is sent, such as 22:00-07:00, in the time zone of this Mac',
    parse: checked('must be two times of day, such as 22:00-07:00', (value) =>
      parseQuietHours(value, new Intl.DateTimeFormat().resolvedOptions().timeZone),
    ),
  },
  attachmentWaitMs: seconds(
    'FOOTBRIDGE_ATTACHMENT_WAIT_SEC',
    'time an inbound message waits for its attachments',
    120,
  ),
  protocolWaitMs: seconds(
    'FOOTBRIDGE_PROTOCOL_WAIT_SEC',
    'pause after a protocol violation (close code 4000)',
    60,
  ),
  backoffCapMs: seconds('FOOTBRIDGE_BACKOFF_CAP_SEC', 'maximum pause between two connection attempts', 30),
  healthMs: seconds('FOOTBRIDGE_HEALTH_SEC', 'interval of the health log line', 60),
} as const;

export type SettingName = keyof typeof SETTINGS;

function defaultDataDir(): string {
  return process.platform === 'darwin'
    ? join(homedir(), 'Library', 'Application Support', 'Footbridge')
    : join(homedir(), '.footbridge-agent');
}
