import { hash } from 'node:crypto';

const NAMESPACE = Buffer.from('5b0ad6d4c1f64d0b9f0e6a1f7d3c2b18', 'hex');

/** A UUIDv5 of location and guid: the same message has the same key on every node and after every restart. */
export function idempotencyKey(locationId: string, guid: string): string {
  const digest = hash(
    'sha1',
    Buffer.concat([NAMESPACE, Buffer.from(`${locationId}\n${guid}`, 'utf8')]),
    'hex',
  );
  const version = `5${digest.slice(13, 16)}`;
  const variant = ((Number.parseInt(digest.slice(16, 18), 16) & 0x3f) | 0x80).toString(16);
  return [
    digest.slice(0, 8),
    digest.slice(8, 12),
    version,
    variant + digest.slice(18, 20),
    digest.slice(20, 32),
  ].join('-');
}
