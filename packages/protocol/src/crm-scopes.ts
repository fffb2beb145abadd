/** The CRM scopes that the app or a private integration token needs, and what each is for. docs/crm.md lists the same scopes. */
export const CRM_SCOPES: readonly { readonly scope: string; readonly purpose: string }[] = [
  { scope: 'conversations/message.write', purpose: 'inbound messages, statuses, attachments' },
  { scope: 'contacts.readonly', purpose: 'the contact of a sender, the phone of a contact' },
  { scope: 'contacts.write', purpose: 'contacts for unknown senders, do not disturb after STOP' },
  { scope: 'conversations.readonly', purpose: 'finding the conversation after a lost response' },
  {
    scope: 'conversations/message.readonly',
    purpose: 'reading its messages, and the status of a message after a crash',
  },
  { scope: 'oauth.readonly', purpose: 'agency installs' },
  { scope: 'oauth.write', purpose: 'agency installs' },
];
