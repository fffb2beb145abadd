import type { Generated } from 'kysely';

/**
 * The tables as Kysely types. Times are milliseconds since 1970, flags are 0 or 1 and JSON is text: both dialects store these alike. A
 * feature declares its tables in the file that uses them.
 */
export interface Schema {
  licenses: {
    id: string;
    label: string;
    key_hash: string;
    /** The last group of the key, by which the operator tells licenses apart. */
    key_hint: string;
    max_seats: number;
    /** The last day with an activation, in days since 1970, and how many there were. */
    activation_day: Generated<number>;
    activations: Generated<number>;
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
    /** The only location that the token is good for. Null: any location of the license. */
    location_id: string | null;
    status: 'active' | 'deactivated' | 'revoked';
    activated_at: number;
    last_seen_at: number;
    updated_at: number;
  };
  locations: {
    location_id: string;
    license_id: string | null;
    state: 'unassigned' | 'bound' | 'released';
    /** The device that bound the location last. */
    device_row: string | null;
    /** 1: the operator assigned the location to the license. 0: one of its Macs claimed it. */
    confirmed: Generated<number>;
    /** When another device bound the location last, or when its device lost it. Null if that never happened. */
    handed_over_at: Generated<number | null>;
    created_at: number;
    updated_at: number;
  };
  /** When locations were deleted, so that their next Mac is known to be another one. */
  deleted_locations: { location_id: string; deleted_at: number };
  /** Used and expired codes are kept for a day, so that the Mac can be told which of the two it is. */
  pairing_codes: {
    code_hash: string;
    location_id: string;
    /** The license that owned the location when the code was made. Null: an earlier version of the service made it. */
    license_id: string | null;
    created_at: number;
    expires_at: number;
    used_at: number | null;
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
  inbound_guids: {
    location_id: string;
    guid: string;
    state: 'sending' | 'sent' | 'rejected' | 'released';
    /** The process that claimed the message. A claim of a process that ended is uncertain. */
    owner: string;
    /** Never read. New rows contain 0; nodes of the last release write the epoch of the lease. */
    epoch: number;
    /** 1: an attempt may have reached the CRM, since its response was lost or its process ended. */
    uncertain: number;
    crm_message_id: string | null;
    /** The time of the claim: no attempt that may have reached the CRM was made earlier. */
    created_at: number;
    updated_at: number;
    /** The id of the journal entry, which is written after the claim. Null when an earlier version of the service made the claim. */
    entry_id: string | null;
  };
  messages: {
    /** The requestId of an outbound request, or a generated id for an inbound message. */
    id: string;
    direction: 'outbound' | 'inbound';
    location_id: string;
    message_id: string | null;
    kind: string;
    status: string;
    code: string | null;
    phone_masked: string | null;
    /** Keyed hashes of the phone number or email address, and of the CRM's contact id. */
    phone_hash: string | null;
    contact_hash: string | null;
    length: number;
    created_at: number;
    updated_at: number;
    /** The steps known when the row was written, one JSON list per line. */
    steps: string | null;
    /** Set when the CRM has accepted `delivered` for a request that repeats a message, to find it among any number of repeats. */
    told: 'delivered' | null;
    /** Groups messages that were written at about the same time; see `MessageBlocks`. 0 for messages from before there were blocks. */
    block: Generated<number>;
  };
  /** Steps recorded later, or by another node. */
  message_steps: { message_id: string; seq: number; at: number; step: string; detail: string | null };
  /** The totals of `assets` per license of the Mac that sent them. */
  license_asset_totals: { license_id: string; files: number; bytes: number };
  /** The totals of `assets` per location. */
  asset_totals: { location_id: string; files: number; bytes: number };
  assets: {
    id: string;
    location_id: string;
    /** Of the Mac that sent it; null for a file of an earlier version. */
    license_id: string | null;
    name: string;
    content_type: string;
    size: number;
    sha256: string;
    /** For a converted file: the id of the original. */
    original_id: string | null;
    note: string | null;
    created_at: number;
    expires_at: number;
    /** A keyed hash of the sender's phone number or email address. Null until the message of the file is delivered. */
    sender_hash: string | null;
  };
  audit: {
    id: string;
    at: number;
    actor: string;
    /** The label of the operator's token. Null for a Mac, and in entries of earlier versions. */
    name: string | null;
    action: string;
    target: string;
    detail: string | null;
  };
  /** Tokens that the operator created for others. */
  operator_tokens: {
    id: string;
    label: string;
    token_hash: string;
    read_only: number;
    /** JSON list of location ids, or null for all. */
    locations: string | null;
    created_at: number;
  };
  /** Browsers that signed in. */
  operator_sessions: { id_hash: string; token_hash: string; created_at: number; last_seen_at: number };
  /** Codes that sign a browser in once. */
  sign_in_codes: { code_hash: string; token_hash: string; expires_at: number };
  /** Signed requests that were handled, by which repeats are recognised. */
  seen_requests: { hash: string; expires_at: number };
  /** Messages that were in work when a process died. */
  suspects: {
    kind: 'outbound' | 'inbound' | 'file';
    location_id: string;
    /** Of the CRM, or the GUID of an inbound message, or the hash of a file. */
    message_id: string;
    /** The number of processes that died. */
    deaths: number;
    at: number;
  };
  /** Secrets that only the nodes share, generated by the first node that needs them. */
  shared_secrets: { name: string; value: string };
  /** One row per change notice for other nodes. Read by id, pruned after an hour. */
  changes: { id: Generated<number>; topic: string; subject: string; at: number };
}
