import { shellQuoted } from '@footbridge/ui/shell-quoted';

import type { Message } from './types.ts';

type Carried = Pick<Message, 'direction' | 'locationId' | 'messageId'>;

/**
 * Returns shell commands that repeat the webhook or the call to the CRM. What the journal does not have is a placeholder. With the same
 * `messageId` the Mac does not send again.
 */
export const asCurl = (message: Carried): string =>
  message.direction === 'outbound' ? webhook(message) : inboundCall(message);

function webhook({ locationId, messageId }: Carried): string {
  const body = {
    locationId,
    contactId: 'CONTACT_ID',
    phone: 'PHONE',
    message: 'TEXT',
    ...(messageId !== null && { messageId }),
  };
  return [
    `printf '%s' ${shellQuoted(JSON.stringify(body))} > body.json`,
    'SIGNATURE=$(openssl pkeyutl -sign -inkey key.pem -rawin -in body.json | openssl base64 -A)',
    curl('"$FOOTBRIDGE_URL/crm/webhook"', '-H "X-CRM-Signature: $SIGNATURE"', '--data-binary @body.json'),
  ].join('\n');
}

function inboundCall({ locationId }: Carried): string {
  const body = { type: 'SMS', contactId: 'CONTACT_ID', locationId, message: 'TEXT' };
  return curl(
    '"$CRM_URL/conversations/messages/inbound"',
    '-H "Authorization: Bearer $CRM_TOKEN"',
    "-H 'Version: 2021-07-28'",
    "-H 'Idempotency-Key: IDEMPOTENCY_KEY'",
    `--data-binary ${shellQuoted(JSON.stringify(body))}`,
  );
}

const curl = (address: string, ...options: readonly string[]): string =>
  [`curl -i -X POST ${address}`, "-H 'Content-Type: application/json'", ...options].join(' \\\n  ');
