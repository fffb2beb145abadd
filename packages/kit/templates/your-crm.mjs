// The CRM behind the templates. It keeps everything in memory: replace the maps with tables in your database.
import { nextStatus, reduceReactions } from '@footbridge/kit';

/** The settings are those of the service: CRM_OAUTH_CLIENT_ID and CRM_OAUTH_CLIENT_SECRET (at least 32 characters). */
export function createCrm({ CRM_OAUTH_CLIENT_ID = '', CRM_OAUTH_CLIENT_SECRET = '' }) {
  const contacts = new Map(); // the id of a contact, by location and phone number or email address
  const known = new Map(); // the id of a message, by location and idempotency key
  const messages = new Map(); // by id; show `text`, not `message`
  const statuses = new Map(); // by location and id of the message that you sent
  const reactions = new Map(); // by location and contact; reactionsFor(state, guid) returns what to draw

  return {
    clientId: CRM_OAUTH_CLIENT_ID,
    clientSecret: CRM_OAUTH_CLIENT_SECRET,
    findContact: (locationId, handle) => contacts.get(`${locationId} ${handle}`),
    createContact(locationId, handle) {
      const id = crypto.randomUUID();
      contacts.set(`${locationId} ${handle}`, id);
      return id;
    },
    // The bridge repeats a call if the response was lost. In a database, a unique index on the key prevents duplicates.
    saveMessage({ idempotencyKey, ...message }) {
      const key = `${message.locationId} ${idempotencyKey}`;
      const id = known.get(key) ?? crypto.randomUUID();
      if (idempotencyKey !== undefined) known.set(key, id);
      const conversation = `${message.locationId} ${message.contactId}`;
      if (message.kind === 'reaction')
        reactions.set(conversation, reduceReactions(reactions.get(conversation) ?? {}, message));
      else messages.set(id, message);
      return id;
    },
    // Return false for a message that this location did not send.
    saveStatus({ locationId, messageId, status }) {
      const key = `${locationId} ${messageId}`;
      statuses.set(key, nextStatus(statuses.get(key), status));
      return true;
    },
  };
}
