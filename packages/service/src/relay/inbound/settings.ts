import { choice, flag, matching, text } from '../../platform/settings/parsers.ts';
import { settingIn } from '../../platform/settings/setting.ts';

export const MESSAGE_TYPE = /^[A-Za-z_]{2,32}$/;

const setting = settingIn('CRM');

/** How messages are delivered to the CRM. */
export const INBOUND = {
  conversationProviderId: setting(
    'CRM_CONVERSATION_PROVIDER_ID',
    undefined,
    text,
    'Sent as conversationProviderId with inbound messages, for a provider that is an added channel.',
  ),
  inboundType: setting(
    'CRM_INBOUND_TYPE',
    'SMS',
    matching(MESSAGE_TYPE, 'must be a message type such as SMS or Custom'),
    'The type of inbound messages; an added channel needs Custom.',
  ),
  sendAltId: setting(
    'CRM_SEND_ALT_ID',
    'false',
    flag,
    'Send the GUID of each inbound message as altId. When a user replies to that message, the CRM returns it as replyToAltId, and the reply is threaded on the Mac.',
  ),
  mirrorSent: setting(
    'CRM_MIRROR_SENT',
    'false',
    flag,
    'Add messages that the owner of a Mac types on it or on a phone to the CRM as outbound, for existing contacts only. The Mac needs FOOTBRIDGE_MIRROR=true.',
  ),
  createContacts: setting(
    'CRM_CREATE_CONTACTS',
    'true',
    flag,
    'Create a contact for an unknown sender. false: such messages stay on the Mac and can be delivered later.',
  ),
  uploadAttachments: setting(
    'CRM_UPLOAD_ATTACHMENTS',
    'false',
    flag,
    "Upload attachments to the CRM's own storage, which shows previews; falls back to the URL of this service.",
  ),
  footerOnPlainText: setting(
    'FOOTER_ON_PLAIN_TEXT',
    'false',
    flag,
    'End plain one-to-one texts with the metadata footer too. Tapbacks on them need it.',
  ),
  onUncertain: setting(
    'INBOUND_ON_UNCERTAIN',
    'retry',
    choice('retry', 'park'),
    "What to do with an inbound message when the CRM's response was lost and the conversation cannot be read: retry under the same idempotency key, or park it.",
  ),
} as const;
