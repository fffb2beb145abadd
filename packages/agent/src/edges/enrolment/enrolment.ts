import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';

import type { DeviceId } from '@footbridge/protocol/ids';
import { readObject } from '@footbridge/protocol/read-json';
import { parseRetryAfter } from '@footbridge/protocol/retry-after';
import type { Log } from '@footbridge/runtime/log';
import { readBounded } from '@footbridge/runtime/read-bounded';
import { request } from 'undici';

import { findToken, isUsableToken, readToken, saveToken, tokenPath } from './token-file.ts';

export interface EnrolmentDeps {
  readonly url: string;
  readonly dataDir: string;
  /** Needed to activate. Afterwards the device token replaces it. */
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

export type Activation =
  | { readonly ok: true; readonly token: string; readonly seats?: Seats }
  | ActivationFailure;

export type Pairing =
  | { readonly ok: true; readonly location: string; readonly seats?: Seats }
  | ActivationFailure;

export interface ActivationFailure {
  readonly ok: false;
  /** Retrying cannot help: a person must act. */
  readonly final: boolean;
  readonly code: string;
  readonly message: string;
  /** From the `Retry-After` header. */
  readonly retryAfterMs?: number;
}

const TIMEOUT_MS = 15_000;
/** Far larger than any response of a service. */
const MAX_RESPONSE_BYTES = 65_536;
/** What the service accepts, without control characters: a setting is one line of text. */
const LOCATION = /^(?=.*\S)\P{Cc}{1,256}$/u;

/** Exchanges the license key for a device token, once, and saves the token. */
export class Enrolment {
  readonly #deps: EnrolmentDeps;

  constructor(deps: EnrolmentDeps) {
    this.#deps = deps;
  }

  /** Returns the saved token, or activates this Mac if there is none. */
  async token(): Promise<Activation> {
    const { dataDir, log } = this.#deps;
    if ((await findToken(dataDir)) === 'unusable')
      log.warn(
        { event: 'license.token_unusable', file: tokenPath(dataDir) },
        'saved device token is damaged, activating again',
      );
    const token = await this.savedToken();
    return token === undefined ? await this.activate() : { ok: true, token };
  }

  /** Returns the saved token if it belongs to this service and license. */
  async savedToken(): Promise<string | undefined> {
    const { url, dataDir, license } = this.#deps;
    const saved = await readToken(dataDir);
    if (saved?.url !== url) return undefined;
    return license === undefined || saved.license === hash(license) ? saved.token : undefined;
  }

  /** Takes a seat of the license and saves the new token. Any earlier token of this Mac becomes invalid. */
  async activate(): Promise<Activation> {
    const { license, url, deviceId, name, osVersion, appVersion, dataDir, log } = this.#deps;
    if (license === undefined) {
      return {
        ok: false,
        final: true,
        code: 'LICENSE_MISSING',
        message:
          'This Mac is not activated. Pair it with a code from the operator of the service: footbridge-agent pair CODE',
      };
    }
    const body = JSON.stringify({ licenseKey: license, deviceId, name, osVersion, appVersion });
    const response = await post(`${url}/mac/activate`, { 'content-type': 'application/json' }, body);
    if (response === undefined) {
      return { ok: false, final: false, code: 'UNREACHABLE', message: 'The service cannot be reached' };
    }
    const token = tokenOf(response);
    if (token === undefined) return failureOf(response);
    await saveToken(dataDir, { url, token, license: hash(license) });
    const seats = readSeats(response.body['seats']);
    log.info({ event: 'license.activated', deviceId, seats }, 'device activated');
    return { ok: true, token, ...(seats === undefined ? {} : { seats }) };
  }

  /** Exchanges a pairing code for a device token, which is saved, and for the location that this Mac serves (M12). */
  async pair(code: string): Promise<Pairing> {
    const { url, deviceId, name, osVersion, appVersion, dataDir } = this.#deps;
    const body = JSON.stringify({ code, deviceId, name, osVersion, appVersion });
    const response = await post(`${url}/mac/pair`, { 'content-type': 'application/json' }, body);
    if (response === undefined)
      return { ok: false, final: false, code: 'UNREACHABLE', message: `${url} cannot be reached` };
    const token = tokenOf(response);
    const location = response.body['locationId'];
    if (token === undefined || typeof location !== 'string' || !LOCATION.test(location))
      return failureOf(response);
    await saveToken(dataDir, { url, token, license: '' });
    const seats = readSeats(response.body['seats']);
    return { ok: true, location, ...(seats === undefined ? {} : { seats }) };
  }

  /** Releases the seat and deletes the token. Returns false when the service could not be reached. */
  async deactivate(): Promise<boolean> {
    const { url, dataDir } = this.#deps;
    const token = await this.savedToken();
    if (token === undefined) return false;
    const response = await post(`${url}/mac/deactivate`, { authorization: `Bearer ${token}` });
    // 401: the service has already revoked the token.
    if (response?.status !== 204 && response?.status !== 401) return false;
    await rm(tokenPath(dataDir), { force: true });
    return true;
  }
}

interface ActivationResponse {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  readonly retryAfterMs?: number;
}

/** Returns undefined when there was no response. */
async function post(
  url: string,
  headers: Record<string, string>,
  body: string | null = null,
): Promise<ActivationResponse | undefined> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await request(url, { method: 'POST', headers, body, signal });
    // A longer body is not from a Footbridge service, so it has none of the fields.
    const text = String((await readBounded(response.body, MAX_RESPONSE_BYTES)) ?? '');
    const waitMs = parseRetryAfter(String(response.headers['retry-after'] ?? ''), Date.now());
    const retryAfter = waitMs === undefined ? {} : { retryAfterMs: waitMs };
    return { status: response.statusCode, body: readObject(text), ...retryAfter };
  } catch {
    return undefined;
  }
}

function tokenOf({ status, body }: ActivationResponse): string | undefined {
  const token = body['deviceToken'];
  return (status === 200 || status === 201) && isUsableToken(token) ? token : undefined;
}

function failureOf({ status, body, retryAfterMs }: ActivationResponse): ActivationFailure {
  // A response without a code comes from a proxy or a captive portal, which knows nothing about the license.
  const isFromService = typeof body['code'] === 'string';
  const code = isFromService ? String(body['code']) : `HTTP_${status}`;
  const isRejection = status >= 400 && status < 500 && status !== 408 && status !== 425 && status !== 429;
  const final = isFromService && isRejection;
  const isSuccess = status === 200 || status === 201;
  const message =
    explain(code, body) ??
    `The service responded to the activation with HTTP ${status}${isSuccess ? ', but without a token or a location that can be used. Check that a Footbridge service has this address' : ''}`;
  return { ok: false, final, code, message, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
}

const EXPLANATIONS: Readonly<Record<string, string>> = {
  LICENSE_INVALID: 'The license key is unknown or revoked. Check it with the operator of the service',
  LICENSE_SUSPENDED: 'The license is suspended. Contact the operator of the service',
  PAIRING_CODE_INVALID:
    'The pairing code is wrong or no longer valid. Check it, or ask the operator of the service for a new one',
  PAIRING_CODE_USED: 'The pairing code was already used. Ask the operator of the service for a new one',
  PAIRING_CODE_EXPIRED:
    'The pairing code is older than 15 minutes. Ask the operator of the service for a new one',
  TOO_MANY_REQUESTS: 'Too many attempts. Wait a minute and try again',
  INVALID_REQUEST: 'The service does not support this version of the agent. Update the agent',
};

function explain(code: string, body: Readonly<Record<string, unknown>>): string | undefined {
  // A minute for an address, or the rest of the day for a license: only the service knows.
  const { message } = body;
  if (code === 'TOO_MANY_REQUESTS' && typeof message === 'string') return message.replace(/\.$/, '');
  if (code !== 'SEATS_EXHAUSTED') return EXPLANATIONS[code];
  const seats = readSeats(body['seats']);
  const used = seats === undefined ? '' : ` (${seats.used} of ${seats.max})`;
  return `All seats of the license are taken${used}. Deactivate another Mac first`;
}

function readSeats(value: unknown): Seats | undefined {
  if (typeof value !== 'object' || value === null || !('used' in value) || !('max' in value))
    return undefined;
  const { used, max } = value;
  return typeof used === 'number' && typeof max === 'number' ? { used, max } : undefined;
}

function hash(license: string): string {
  return createHash('sha256').update(license).digest('base64url');
}
