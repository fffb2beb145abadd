import { homedir } from 'node:os';
import { join } from 'node:path';

import { asDeviceId, asLocationId } from '@footbridge/protocol/ids';

/** One setting: its flag, its environment variable, what it is for. The command, the docs and the reader use this table. */
export interface Setting<T> {
  readonly env: string;
  /** As commander wants it; settings that nobody types have none. */
  readonly flag?: string;
  readonly fallback?: string;
  readonly secret?: true;
  readonly about: string;
  /** Undefined: `rule` is broken. */
  readonly parse: (text: string) => T | undefined;
  readonly rule: string;
}

const url: Setting<string> = {
  env: 'FOOTBRIDGE_URL',
  flag: '--url <url>',
  about: 'address of the service',
  rule: 'must be an http or https address',
  parse: (given) => {
    const protocol = URL.parse(given)?.protocol;
    return protocol === 'http:' || protocol === 'https:' ? given.replace(/\/+$/, '') : undefined;
  },
};

function text(
  env: string,
  flag: string,
  about: string,
  more: Partial<Setting<string>> = {},
): Setting<string> {
  return {
    env,
    flag,
    about,
    rule: 'must not be blank',
    parse: (value) => value.trim() || undefined,
    ...more,
  };
}

function bool(env: string, flag: string | undefined, about: string, fallback: boolean): Setting<boolean> {
  return {
    env,
    ...(flag === undefined ? {} : { flag }),
    about,
    fallback: String(fallback),
    rule: 'must be true or false',
    parse: (value) => (value === 'true' ? true : value === 'false' ? false : undefined),
  };
}

/** Written in seconds, used in milliseconds. */
function seconds(env: string, about: string, fallback: number): Setting<number> {
  return {
    env,
    about: `${about}, in seconds`,
    fallback: String(fallback),
    rule: 'must be a number of seconds above 0',
    parse: (value) => (Number(value) > 0 ? Number(value) * 1000 : undefined),
  };
}

function count(
  env: string,
  flag: string | undefined,
  about: string,
  fallback: string,
  max: number,
): Setting<number> {
  return {
    env,
    ...(flag === undefined ? {} : { flag }),
    about,
    fallback,
    rule: `must be a whole number from 0 to ${max}`,
    parse: (value) => (/^\d+$/.test(value) && Number(value) <= max ? Number(value) : undefined),
  };
}

export const SETTINGS = {
  url,
  license: text('FOOTBRIDGE_LICENSE', '--license <key>', 'license key, needed once', { secret: true }),
  location: text('FOOTBRIDGE_LOCATION', '--location <id>', 'the CRM location this Mac serves', {
    parse: asLocationId,
  }),
  dataDir: text(
    'FOOTBRIDGE_AGENT_DIR',
    '--data-dir <folder>',
    'where the agent keeps its journal and its token',
    {
      fallback: defaultDataDir(),
    },
  ),
  deviceId: text(
    'FOOTBRIDGE_DEVICE_ID',
    '--device-id <id>',
    'stable name of this Mac; made and kept if not given',
    {
      parse: asDeviceId,
      rule: 'must be 8 to 128 of A–Z a–z 0–9 . _ : -',
    },
  ),
  simulate: bool(
    'FOOTBRIDGE_SIMULATE',
    '--simulate',
    'use a simulated Messages instead of the real one',
    false,
  ),
  macos: text('FOOTBRIDGE_MACOS', '--macos <version>', 'macOS version that is simulated', {
    fallback: '26.1',
    rule: 'must be a version from 12 to 99, such as 26.1',
    parse: (value) => (/^(1[2-9]|[2-9]\d)(\.\d{1,3}){0,2}$/.test(value) ? value : undefined),
  }),
  controlPort: count(
    'FOOTBRIDGE_CONTROL_PORT',
    '--control-port <port>',
    'port on 127.0.0.1 through which the simulated people are played; 0 takes a free one',
    '4630',
    65_535,
  ),
  allowLoopback: bool(
    'FOOTBRIDGE_ALLOW_LOOPBACK',
    '--allow-loopback',
    'attachments may come from this machine, also by http (tests and demo)',
    false,
  ),
  smsFallback: bool(
    'FOOTBRIDGE_SMS_FALLBACK',
    '--sms-fallback',
    'when a number is not on iMessage, try once by SMS',
    false,
  ),
  uiAutomation: bool(
    'FOOTBRIDGE_UI_AUTOMATION',
    undefined,
    'whether reactions, effects and stickers may use the screen’s controls',
    true,
  ),
  logLevel: text('FOOTBRIDGE_LOG_LEVEL', '--log-level <level>', 'debug, info, warn or error', {
    fallback: 'info',
    rule: 'must be debug, info, warn, error or silent',
    parse: (value) => (['debug', 'info', 'warn', 'error', 'silent'].includes(value) ? value : undefined),
  }),
  queueLimit: count('FOOTBRIDGE_QUEUE_LIMIT', undefined, 'jobs that may wait', '500', 100_000),
  sendGapMs: count(
    'FOOTBRIDGE_SEND_GAP_MS',
    undefined,
    'pause between two jobs, in milliseconds: accounts that write too fast are taken for spam',
    '0',
    600_000,
  ),
  heartbeatMs: seconds('FOOTBRIDGE_HEARTBEAT_SEC', 'how often the service pings (its MAC_HEARTBEAT_SEC)', 15),
  confirmMs: seconds('FOOTBRIDGE_CONFIRM_SEC', 'how long a reaction may take to show up in Messages', 2),
  sendLimitMs: seconds(
    'FOOTBRIDGE_SEND_LIMIT_SEC',
    'after which a send that does not end counts as unknown',
    300,
  ),
  attachmentWaitMs: seconds(
    'FOOTBRIDGE_ATTACHMENT_WAIT_SEC',
    'how long an inbound message waits for its files before it goes without them',
    120,
  ),
  protocolWaitMs: seconds(
    'FOOTBRIDGE_PROTOCOL_WAIT_SEC',
    'pause after the service saw the protocol violated',
    60,
  ),
  backoffCapMs: seconds('FOOTBRIDGE_BACKOFF_CAP_SEC', 'longest pause between two attempts to connect', 30),
  healthMs: seconds('FOOTBRIDGE_HEALTH_SEC', 'how often the health line is logged', 60),
} as const;

export type SettingName = keyof typeof SETTINGS;
export type SettingValue<N extends SettingName> = (typeof SETTINGS)[N] extends Setting<infer T> ? T : never;

function defaultDataDir(): string {
  return process.platform === 'darwin'
    ? join(homedir(), 'Library', 'Application Support', 'Footbridge')
    : join(homedir(), '.footbridge-agent');
}
