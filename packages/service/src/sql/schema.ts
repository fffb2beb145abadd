import type { Generated } from 'kysely';

/** The tables as Kysely sees them. Times are milliseconds since 1970, flags are 0 and 1, JSON is text: both dialects agree on these. */
export interface Schema {
  licenses: {
    id: string;
    label: string;
    key_hash: string;
    /** The last group of the key, so that people can tell licenses apart. */
    key_hint: string;
    max_seats: number;
    status: 'active' | 'suspended' | 'revoked';
    created_at: number;
    updated_at: number;
  };
  devices: {
    id: string;
    license_id: string;
    device_id: string;
    name: string;
    os_version: string;
    app_version: string;
    token_hash: string;
    status: 'active' | 'deactivated' | 'revoked';
    activated_at: number;
    last_seen_at: number;
    updated_at: number;
  };
  locations: {
    location_id: string;
    license_id: string | null;
    state: 'unassigned' | 'bound' | 'released';
    /** The devices row that bound it last. */
    device_row: string | null;
    created_at: number;
    updated_at: number;
  };
  crm_keys: {
    id: string;
    label: string;
    scheme: 'Ed25519' | 'RSA-SHA256';
    header: string;
    public_key: string;
    /** SHA-256 of the SPKI, hex. */
    fingerprint: string;
    /** JSON list of location ids, or null for all. */
    locations: string | null;
    enabled: number;
    created_at: number;
    updated_at: number;
  };
  oauth_grants: {
    /** `location` rows are keyed by locationId, `company` rows by companyId. */
    kind: 'location' | 'company';
    owner_id: string;
    company_id: string | null;
    /** Ciphertexts, `keyId.nonce.tag.data`. */
    access_token: string;
    refresh_token: string | null;
    expires_at: number;
    state: 'active' | 'reauth_required';
    last_error: string | null;
    refreshed_at: number;
    created_at: number;
    updated_at: number;
  };
  private_tokens: { location_id: string; token: string; updated_at: number };
  inbound_guids: {
    location_id: string;
    guid: string;
    state: 'sending' | 'sent' | 'rejected';
    /** The process that claimed it: a claim of a process that is gone is uncertain. */
    owner: string;
    epoch: number;
    uncertain: number;
    crm_message_id: string | null;
    created_at: number;
    updated_at: number;
  };
  messages: {
    /** requestId of an outbound request, or an id of ours for an inbound message. */
    id: string;
    direction: 'outbound' | 'inbound';
    location_id: string;
    message_id: string | null;
    kind: string;
    status: string;
    code: string | null;
    phone_masked: string | null;
    length: number;
    created_at: number;
    updated_at: number;
    /** Those that were known when it was written, a JSON list per line. */
    steps: string | null;
  };
  /** Those that came later, or from another node. */
  message_steps: { message_id: string; seq: number; at: number; step: string; detail: string | null };
  assets: {
    id: string;
    location_id: string;
    name: string;
    content_type: string;
    size: number;
    sha256: string;
    /** Of a converted file: the id of what the Mac sent. */
    original_id: string | null;
    note: string | null;
    created_at: number;
    expires_at: number;
  };
  audit: { id: string; at: number; actor: string; action: string; target: string; detail: string | null };
  /** What all nodes must know and nobody else: made by the first one that needs it. */
  shared_secrets: { name: string; value: string };
  /** One row per change that other nodes must hear of; read by id, pruned after an hour. */
  changes: { id: Generated<number>; topic: string; subject: string; at: number };
}
