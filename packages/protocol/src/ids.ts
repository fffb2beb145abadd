declare const brand: unique symbol;

type Branded<Name extends string> = string & { readonly [brand]: Name };

/** One CRM tenant: the key by which everything is routed. Opaque. */
export type LocationId = Branded<'LocationId'>;
/** The CRM's id of one outbound message, usable in the path of a status call (A1). */
export type MessageId = Branded<'MessageId'>;
/** Ours: one webhook request, from the answer to the Mac and back. A UUIDv7. */
export type RequestId = Branded<'RequestId'>;
/** The stable name of one Mac. */
export type DeviceId = Branded<'DeviceId'>;
/** The GUID which Messages gave to a message. */
export type Guid = Branded<'Guid'>;

const LIMITER_LOCATION = /^[A-Za-z0-9]{3,200}$/;
const DEVICE = /^[A-Za-z0-9._:-]{8,128}$/;
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const MAX_MESSAGE_ID = 256;
const MAX_GUID = 256;

/** Whether the rate limiter may count by this location (L3): 3–200 letters and digits. */
export function isLimiterLocationId(value: string): boolean {
  return LIMITER_LOCATION.test(value);
}

export function asLocationId(value: unknown): LocationId | undefined {
  return typeof value === 'string' && value.trim() !== '' ? (value as LocationId) : undefined;
}

/**
 * A message id that can stand in a URL path (A1). Lone surrogates cannot be percent-encoded, and a URL parser
 * resolves `.` and `..` even when they are encoded, so the path would lose a segment.
 */
export function usableMessageId(value: unknown): MessageId | undefined {
  if (typeof value !== 'string' || value.length === 0 || value.length > MAX_MESSAGE_ID) return undefined;
  if (value === '.' || value === '..' || !value.isWellFormed()) return undefined;
  return value as MessageId;
}

export function asDeviceId(value: unknown): DeviceId | undefined {
  return typeof value === 'string' && DEVICE.test(value) ? (value as DeviceId) : undefined;
}

export function asGuid(value: unknown): Guid | undefined {
  if (typeof value !== 'string' || value.length === 0 || value.length > MAX_GUID) return undefined;
  return value.isWellFormed() ? (value as Guid) : undefined;
}

/** A UUIDv7: 48 bits of milliseconds, then randomness, so that ids sort by the time they were made. */
export function newRequestId(now: number = Date.now()): RequestId {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const view = new DataView(bytes.buffer);
  view.setUint32(0, Math.floor(now / 0x10000));
  view.setUint16(4, now % 0x10000);
  view.setUint8(6, (view.getUint8(6) & 0x0f) | 0x70);
  view.setUint8(8, (view.getUint8(8) & 0x3f) | 0x80);
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  const groups = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)];
  return groups.join('-') as RequestId;
}

/** The moment in which a request id was made, in milliseconds. */
export function requestTime(id: string): number | undefined {
  return UUID_V7.test(id) ? Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) : undefined;
}
