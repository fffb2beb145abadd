import type { Clock } from '@footbridge/runtime/clock';
import { counted } from '@footbridge/runtime/counted';
import { fail, pass, warn } from '@footbridge/runtime/finding';
import type { Finding } from '@footbridge/runtime/finding';

import type { MessageStore, ServiceName } from '../messages.ts';
import type { Features } from './features.ts';
import { ServerClient } from './server-client.ts';
import type { Reply } from './server-client.ts';

const DEFAULT_BLUEBUBBLES_URL = 'http://127.0.0.1:1234';

export interface ServerCheck {
  readonly findings: readonly Finding[];
  /**
   * `ready`: the server can send. `waiting`: it may become ready by itself. `refused`: its settings must be changed first, and the agent
   * does not start.
   */
  readonly state: 'ready' | 'waiting' | 'refused';
  readonly wrongPassword?: true;
  readonly version?: string;
  readonly signedIn?: boolean;
  readonly services?: readonly ServiceName[];
}

const PING_TIMEOUT_MS = 10_000;
/** The server runs other programs before it responds. */
const INFO_TIMEOUT_MS = 30_000;
/** Fields that only the helper knows. A version of the helper may lack some of them. */
const ACCOUNT_FIELDS = ['apple_id', 'active_alias', 'vetted_aliases', 'sms_forwarding_enabled'];
const MIN_VERSION = [1, 9] as const;

const WHY_PRIVATE_API =
  'Without it BlueBubbles sends with AppleScript, which can send a message two or three times, and Footbridge does not use that';
const OR_NATIVE =
  'or run footbridge-agent setup --engine macos: the built-in engine needs no Private API and works with System Integrity Protection on';

/** Looks for a BlueBubbles server. Needs no password. */
export async function findBlueBubbles(
  clock: Clock,
  url = DEFAULT_BLUEBUBBLES_URL,
): Promise<'found' | 'absent' | 'other_program'> {
  const client = new ServerClient({ url, password: '', clock });
  const reply = await client.get('/ping', PING_TIMEOUT_MS);
  await client.close();
  if (reply.kind === 'unreachable') return 'absent';
  return reply.kind === 'reply' && reply.status === 401 ? 'found' : 'other_program';
}

/** Checks a server with its password. Nothing is sent. */
export async function checkBlueBubbles(options: {
  readonly url: string;
  readonly password: string;
  readonly clock: Clock;
}): Promise<ServerCheck> {
  const client = new ServerClient(options);
  try {
    return await checkServer(client);
  } finally {
    await client.close();
  }
}

/** Like `checkBlueBubbles`, with an open client. */
export async function checkServer(client: ServerClient): Promise<ServerCheck> {
  const ping = await client.get('/ping', PING_TIMEOUT_MS);
  const problem = checkPing(ping);
  if (problem !== undefined) return problem;
  const running = pass('BlueBubbles', 'running on this Mac');
  const info = readInfo(await client.get('/server/info', INFO_TIMEOUT_MS));
  const version = checkVersion(info.version);
  const known = { ...(info.version !== undefined && { version: info.version }) };
  if (version.state === 'fail') return { findings: [running, version], state: 'refused', ...known };
  if (info.privateApi === false)
    return { findings: [running, version, NO_PRIVATE_API], state: 'refused', ...known };
  // `helper_connected` of /server/info also counts the helper of FaceTime. Only a call through the helper is a proof.
  const account = await client.get('/icloud/account', INFO_TIMEOUT_MS);
  if (account.kind === 'reply' && /not enabled/.test(account.error))
    return { findings: [running, version, NO_PRIVATE_API], state: 'refused', ...known };
  if (!isFromHelper(account))
    return { findings: [running, version, PRIVATE_API, NO_HELPER], state: 'waiting', ...known };
  const { signedIn, services } = readAccount(account.data);
  return {
    findings: [running, version, PRIVATE_API, HELPER, signedIn ? SIGNED_IN : SIGNED_OUT],
    state: 'ready',
    ...known,
    signedIn,
    services,
  };
}

/** Whether the helper responds. Unlike `checkServer`, this starts no other programs, so it can be repeated often. */
export async function isHelperAlive(client: ServerClient): Promise<boolean> {
  return isFromHelper(await client.get('/icloud/account', INFO_TIMEOUT_MS));
}

/** Whether a reply to /icloud/account has what only the helper knows. */
function isFromHelper(reply: Reply): reply is Extract<Reply, { kind: 'reply' }> {
  if (reply.kind !== 'reply' || reply.status !== 200) return false;
  const fields = fieldsOf(reply.data);
  return ACCOUNT_FIELDS.some((name) => name in fields);
}

/** Returns whether the features that work only on some Macs have worked on this Mac. */
export function featureFindings(features: Pick<Features, 'state' | 'copies'>): Finding[] {
  const findings = (['replies', 'reactions'] as const).map((feature): Finding => {
    const check = feature === 'replies' ? 'Replies' : 'Reactions';
    const state = features.state(feature);
    if (state === 'works') return pass(check, 'worked on this Mac');
    if (state === 'untested') return pass(check, 'not used on this Mac yet; on macOS 26 they may not work');
    return warn(
      check,
      'failed on this Mac and are not used',
      'Update BlueBubbles and its helper; they are tried again after a day',
    );
  });
  const { copies } = features;
  if (copies === undefined) return findings;
  const found = warn(
    'Copies',
    `BlueBubbles sent ${counted(copies.count, 'message')} more than once, last on ${new Date(copies.at).toISOString()}`,
    'Several helpers are connected to Messages: remove all but the one that BlueBubbles installs, then restart Messages',
  );
  return [...findings, found];
}

const RECENT_ROWS = 500;
const QUIET_MS = 7 * 24 * 3600_000;

/** Returns when messages were last sent and received. Only the store shows whether Messages really does both. */
export function activityFinding(
  store: Pick<MessageStore, 'newestRowid' | 'rowsAfter'>,
  now: number,
): Finding {
  const rows = store.rowsAfter(Math.max(0, store.newestRowid() - RECENT_ROWS), RECENT_ROWS);
  const newest = (fromMe: boolean): number | undefined =>
    rows.findLast((row) => row.fromMe === fromMe && row.sentAt !== undefined)?.sentAt;
  const [sent, received] = [newest(true), newest(false)];
  const tell = (at: number | undefined): string => (at === undefined ? 'none' : new Date(at).toISOString());
  const sentence = `last message sent: ${tell(sent)}, received: ${tell(received)}`;
  const isQuiet = now - Math.max(sent ?? 0, received ?? 0) > QUIET_MS;
  return isQuiet
    ? warn(
        'Activity',
        sentence,
        'Send a text to this Mac from a phone, and check that it appears in Messages',
      )
    : pass('Activity', sentence);
}

const PRIVATE_API = pass('Private API', 'turned on');
const NO_PRIVATE_API = fail(
  'Private API',
  `turned off. ${WHY_PRIVATE_API}`,
  `Turn on the Private API in BlueBubbles (it needs System Integrity Protection off), ${OR_NATIVE}`,
);
const HELPER = pass('Helper', 'connected to Messages');
const NO_HELPER = fail(
  'Helper',
  'the helper of the Private API does not respond, so nothing can be sent',
  'Open Messages and restart BlueBubbles; on macOS 26 its helper may need an update',
);
const SIGNED_IN = pass('Account', 'signed in to iMessage');
const SIGNED_OUT = fail(
  'Account',
  'Messages is not signed in to iMessage',
  'Sign in to iMessage in the settings of Messages',
);

function checkPing(ping: Reply): ServerCheck | undefined {
  if (ping.kind === 'unreachable')
    return unusable(
      'waiting',
      'not running',
      'Start BlueBubbles on this Mac, or set FOOTBRIDGE_BLUEBUBBLES_URL',
    );
  if (ping.kind === 'lost') {
    const isSlow = ping.why === 'timeout' || ping.why === 'closed';
    return unusable(
      isSlow ? 'waiting' : 'refused',
      isSlow
        ? 'the program at this address closes the connection or does not respond'
        : 'another program, or BlueBubbles with TLS, uses this address',
      'Set FOOTBRIDGE_BLUEBUBBLES_URL to the local port of BlueBubbles, and remove the certificate from its settings',
    );
  }
  if (ping.status === 401 || ping.status === 403)
    return {
      ...unusable(
        'refused',
        'the password is wrong',
        'Run footbridge-agent setup, or save the password of BlueBubbles in its file (FOOTBRIDGE_BLUEBUBBLES_PASSWORD_FILE)',
      ),
      wrongPassword: true,
    };
  if (ping.status === 200) return undefined;
  return unusable('waiting', `/ping failed with ${ping.status}`, 'Restart BlueBubbles');
}

function unusable(state: 'waiting' | 'refused', sentence: string, next: string): ServerCheck {
  return { findings: [fail('BlueBubbles', sentence, next)], state };
}

function readInfo(reply: Reply): { version?: string; privateApi?: boolean } {
  const data = reply.kind === 'reply' && reply.status === 200 ? fieldsOf(reply.data) : {};
  const { server_version: version, private_api: privateApi } = data;
  return {
    ...(typeof version === 'string' && { version }),
    ...(typeof privateApi === 'boolean' && { privateApi }),
  };
}

function checkVersion(version: string | undefined): Finding {
  // /server/info fails on some stores. The helper is checked in any case.
  if (version === undefined)
    return warn(
      'Version',
      'unknown: BlueBubbles does not report it',
      'Make sure that BlueBubbles is 1.9 or newer',
    );
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isOld = major < MIN_VERSION[0] || (major === MIN_VERSION[0] && minor < MIN_VERSION[1]);
  if (!isOld) return pass('Version', version);
  return fail('Version', `${version} is too old`, 'Update BlueBubbles to 1.9 or newer');
}

function readAccount(data: unknown): { signedIn: boolean; services: ServiceName[] } {
  const { apple_id: appleId, sms_forwarding_enabled: sms } = fieldsOf(data);
  const signedIn = typeof appleId === 'string' && appleId !== '';
  return {
    signedIn,
    services: [...(signedIn ? (['iMessage'] as const) : []), ...(sms === true ? (['SMS'] as const) : [])],
  };
}

function fieldsOf(data: unknown): Readonly<Record<string, unknown>> {
  return typeof data === 'object' && data !== null ? { ...data } : {};
}
