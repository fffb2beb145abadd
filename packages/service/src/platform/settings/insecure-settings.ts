import type { Table } from './setting.ts';

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/;
const MIN_DISTINCT = 6;
const COMMON =
  /^(?:change|me|my|password|secret|token|test|example|admin|letmein|qwerty|operator|node|key|[-_ \d])+$/i;
const ALLOW = 'set ALLOW_INSECURE=true for a test on a private network';

/** Returns the settings that would expose tokens and texts: unencrypted calls to the CRM, and secrets that are easily guessed. */
export function insecure(
  table: Table,
  values: Readonly<Record<string, unknown>>,
  hosts: readonly (string | undefined)[],
): string[] {
  const wrong = (mark: 'https' | 'random', isWrong: (text: string) => boolean) =>
    Object.entries(table)
      .filter(([key, { mustBe }]) => mustBe === mark && textsOf(values[key]).some(isWrong))
      .map(([, { name }]) => name);
  const isLocal = hosts.every((host = '') => LOOPBACK.test(host));
  return [
    ...wrong('https', isUnencrypted).map(
      (name) => `${name} must be an https: address, because tokens and texts are sent to it; ${ALLOW}`,
    ),
    ...(isLocal ? [] : wrong('random', isTrivial)).map(
      (name) => `${name} is easily guessed; use the output of openssl rand -hex 32, or ${ALLOW}`,
    ),
  ];
}

/** The texts of a text, or of a list of keys. */
const textsOf = (value: unknown): string[] =>
  [value]
    .flat()
    .flatMap((one) => (Buffer.isBuffer(one) ? one.toString('latin1') : typeof one === 'string' ? one : []));

function isUnencrypted(address: string): boolean {
  const { protocol, hostname } = new URL(address);
  return protocol === 'http:' && !LOOPBACK.test(hostname);
}

const isTrivial = (secret: string) => new Set(secret).size < MIN_DISTINCT || COMMON.test(secret);
