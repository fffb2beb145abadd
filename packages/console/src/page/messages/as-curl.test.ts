import { expect, it } from 'vitest';

import { asCurl } from './as-curl.ts';

it('S6 repeats the webhook of a message with its ids, and with placeholders for what is not stored', () => {
  expect(asCurl({ direction: 'outbound', locationId: "o'brien", messageId: 'm-1' })).toBe(
    [
      String.raw`printf '%s' '{"locationId":"o'\''brien","contactId":"CONTACT_ID","phone":"PHONE","message":"TEXT","messageId":"m-1"}' > body.json`,
      'SIGNATURE=$(openssl pkeyutl -sign -inkey key.pem -rawin -in body.json | openssl base64 -A)',
      'curl -i -X POST "$FOOTBRIDGE_URL/crm/webhook" \\',
      "  -H 'Content-Type: application/json' \\",
      '  -H "X-CRM-Signature: $SIGNATURE" \\',
      '  --data-binary @body.json',
    ].join('\n'),
  );
});

it('S6 leaves the message id out of a webhook that had none', () => {
  expect(asCurl({ direction: 'outbound', locationId: 'loc', messageId: null })).not.toContain('messageId');
});

it('S6 repeats the call that brought a message of a customer to the CRM', () => {
  expect(asCurl({ direction: 'inbound', locationId: 'loc', messageId: null })).toBe(
    [
      'curl -i -X POST "$CRM_URL/conversations/messages/inbound" \\',
      "  -H 'Content-Type: application/json' \\",
      '  -H "Authorization: Bearer $CRM_TOKEN" \\',
      "  -H 'Version: 2021-07-28' \\",
      "  -H 'Idempotency-Key: IDEMPOTENCY_KEY' \\",
      String.raw`  --data-binary '{"type":"SMS","contactId":"CONTACT_ID","locationId":"loc","message":"TEXT"}'`,
    ].join('\n'),
  );
});
