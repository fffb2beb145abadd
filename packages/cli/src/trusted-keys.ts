import type { OperatorClient } from './operator-client.ts';

/** A CRM key that may sign webhooks, as the operator API returns it. */
export interface Key {
  readonly id: string;
  readonly label: string;
  readonly scheme: string;
  readonly header: string;
  readonly fingerprint: string;
  readonly publicKey: string;
  readonly locations: readonly string[] | null;
  readonly enabled: boolean;
  readonly source: 'operator' | 'settings';
}

export const listKeys = async (client: OperatorClient): Promise<readonly Key[]> =>
  (await client.call<{ keys: Key[] }>('GET', '/operator/keys')).keys;
