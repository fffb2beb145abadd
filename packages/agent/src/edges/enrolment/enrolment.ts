import { createHash, randomUUID } from 'node:crypto';
import { chmod, mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { asDeviceId } from '@footbridge/protocol/ids';
import type { DeviceId } from '@footbridge/protocol/ids';
import { parseRetryAfter } from '@footbridge/protocol/retry-after';
import { request } from 'undici';

import type { Log } from '../../log.ts';

export interface EnrolmentOptions {
  readonly url: string;
  readonly dataDir: string;
  /** Needed once; afterwards the device token stands for it. */
  readonly license: string | undefined;
  readonly deviceId: DeviceId;
  readonly name: string;
  readonly osVersion: string;
  readonly appVersion: string;
  readonly log: Log;
}

export interface Seats {
  readonly used: number;
  readonly max: number;
}

/** `final`: asking again will not help, a person must act. */
export interface EnrolmentRefused {
  readonly ok: false;
  readonly final: boolean;
  readonly code: string;
  readonly message: string;
  /** The service said when to come back. */
  readonly retryAfterMs?: number;
}

export type Activation =
  | { readonly ok: true; readonly token: string; readonly seats: Seats | undefined }
  | EnrolmentRefused;

type Credential = { readonly ok: true; readonly token: string } | EnrolmentRefused;

const TIMEOUT_MS = 15_000;

/** License key → device token, once; the token is kept in a file that only its owner can read. */
export class Enrolment {
  readonly #options: EnrolmentOptions;

  constructor(options: EnrolmentOptions) {
    this.#options = options;
  }

  async token(): Promise<Credential> {
    const kept = await this.keptToken();
    return kept === undefined ? await this.renew() : { ok: true, token: kept };
  }

  async renew(): Promise<Credential> {
    const activated = await this.activate();
    return activated.ok ? { ok: true, token: activated.token } : activated;
  }

  /** The token of this service and this license, if there is one. */
  async keptToken(): Promise<string | undefined> {
    const kept = await readToken(tokenPath(this.#options.dataDir));
    if (kept?.url !== this.#options.url) return undefined;
    const { license } = this.#options;
    return license === undefined || kept.license === fingerprint(license) ? kept.token : undefined;
  }

  async activate(): Promise<Activation> {
    const { license, url, deviceId, name, osVersion, appVersion, dataDir } = this.#options;
    if (license === undefined) {
      return {
        ok: false,
        final: true,
        code: 'LICENSE_MISSING',
        message: 'This Mac is not activated: give a license key with --license or FOOTBRIDGE_LICENSE',
      };
    }
    const body = JSON.stringify({ licenseKey: license, deviceId, name, osVersion, appVersion });
    const answer = await call(`${url}/mac/activate`, { 'content-type': 'application/json' }, body);
    if (answer.status === undefined) {
      return { ok: false, final: false, code: 'UNREACHABLE', message: 'The service cannot be reached' };
    }
    const token = answer.body['deviceToken'];
    if ((answer.status === 200 || answer.status === 201) && typeof token === 'string') {
      await keepToken(tokenPath(dataDir), { url, token, license: fingerprint(license) });
      const seats = readSeats(answer.body['seats']);
      this.#options.log.info({ deviceId, seats }, 'this Mac is activated');
      return { ok: true, token, seats };
    }
    return refusal(answer.status, answer.body, answer.retryAfterMs);
  }

  /** Gives the seat back. True when the service has taken it, or knew nothing of it. */
  async deactivate(): Promise<boolean> {
    const token = await this.keptToken();
    if (token === undefined) return false;
    const answer = await call(
      `${this.#options.url}/mac/deactivate`,
      { authorization: `Bearer ${token}` },
      undefined,
    );
    if (answer.status !== 204 && answer.status !== 401) return false;
    await rm(tokenPath(this.#options.dataDir), { force: true });
    return true;
  }
}

/** Made at the first start and kept: a Mac that comes back takes no second seat. */
export async function stableDeviceId(dataDir: string): Promise<DeviceId> {
  const path = join(dataDir, 'device-id');
  const kept = asDeviceId((await readFile(path, 'utf8').catch(() => '')).trim());
  if (kept !== undefined) return kept;
  const made = asDeviceId(randomUUID());
  if (made === undefined) throw new Error('A device id could not be made');
  await writePrivately(path, made);
  return made;
}

const MESSAGES: Readonly<Record<string, string>> = {
  LICENSE_INVALID: 'The license key is unknown or was revoked; check it with whoever runs the service',
  LICENSE_SUSPENDED: 'The license is suspended; ask whoever runs the service',
  INVALID_REQUEST: 'The service does not understand this agent; update it',
};

function refusal(
  status: number,
  body: Readonly<Record<string, unknown>>,
  retryAfterMs: number | undefined,
): EnrolmentRefused {
  const code = typeof body['code'] === 'string' ? body['code'] : `HTTP_${status}`;
  const final = status >= 400 && status < 500 && status !== 408 && status !== 425 && status !== 429;
  const message = explain(code, body) ?? `The service answered ${status} to the activation`;
  return { ok: false, final, code, message, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
}

function explain(code: string, body: Readonly<Record<string, unknown>>): string | undefined {
  if (code !== 'SEATS_EXHAUSTED') return MESSAGES[code];
  const seats = readSeats(body['seats']);
  const counted = seats === undefined ? '' : ` (${seats.used} of ${seats.max})`;
  return `All seats of the license are taken${counted}; deactivate another Mac first`;
}

interface Answer {
  readonly status: number | undefined;
  readonly body: Readonly<Record<string, unknown>>;
  readonly retryAfterMs?: number;
}

async function call(url: string, headers: Record<string, string>, body: string | undefined): Promise<Answer> {
  try {
    const response = await request(url, {
      method: 'POST',
      headers,
      body: body ?? null,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = await response.body.text();
    const waitMs = parseRetryAfter(String(response.headers['retry-after'] ?? ''), Date.now());
    const retryAfter = waitMs === undefined ? {} : { retryAfterMs: waitMs };
    return { status: response.statusCode, body: readObject(text), ...retryAfter };
  } catch {
    return { status: undefined, body: {} };
  }
}

function readObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

function readSeats(value: unknown): Seats | undefined {
  if (typeof value !== 'object' || value === null || !('used' in value) || !('max' in value))
    return undefined;
  const { used, max } = value;
  return typeof used === 'number' && typeof max === 'number' ? { used, max } : undefined;
}

interface KeptToken {
  readonly url: string;
  readonly token: string;
  /** Of which license, without giving it away. */
  readonly license: string;
}

export function tokenPath(dataDir: string): string {
  return join(dataDir, 'device-token.json');
}

async function readToken(path: string): Promise<KeptToken | undefined> {
  const { url, token, license } = readObject(await readFile(path, 'utf8').catch(() => ''));
  if (typeof url !== 'string' || typeof token !== 'string' || typeof license !== 'string') return undefined;
  return { url, token, license };
}

async function keepToken(path: string, kept: KeptToken): Promise<void> {
  await writePrivately(path, JSON.stringify(kept));
}

/** Whole or not at all, and never readable by others, not even for a moment. */
async function writePrivately(path: string, text: string): Promise<void> {
  await mkdir(join(path, '..'), { recursive: true, mode: 0o700 });
  const beside = `${path}.new`;
  const file = await open(beside, 'w', 0o600);
  try {
    await file.chmod(0o600);
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(beside, path);
  await chmod(path, 0o600);
}

function fingerprint(license: string): string {
  return createHash('sha256').update(license).digest('base64url');
}
