import type { MacFrame, ServiceFrame } from '@footbridge/protocol/frames';

const requestId = '019a7d3e-5b1c-7a40-9c3e-2f6d8b1a4e70';
const chat = { id: 42, isGroup: false, recipients: ['+15555550100'] };
const received = {
  type: 'message_received',
  sender: '+15555550100',
  service: 'iMessage',
  sentAt: '2026-03-01T12:00:00.000Z',
  chat,
  attachments: [],
} as const;

/** At least one frame of each type, as it is sent on the wire. */
export const EXAMPLES: readonly (MacFrame | ServiceFrame)[] = [
  {
    type: 'register',
    locationId: 've9EPM428h8vShlRW1KT',
    agent: { version: '1.0.0' },
    os: { name: 'macOS', version: '26.1' },
    capabilities: ['received', 'reactions'],
  },
  {
    type: 'registered',
    locationId: 've9EPM428h8vShlRW1KT',
    sessionId: '5f1d8a52-0a55-4a0e-9d43-6a1b6ac4ad11',
    window: 64,
  },
  {
    type: 'state',
    capabilities: ['text', 'groups', 'attachments'],
    macos: { version: '26.1', build: '25B78' },
    permissions: { fullDisk: 'granted', automation: 'granted', accessibility: 'unknown' },
    messages: { running: true, signedIn: true, services: ['iMessage', 'SMS'] },
    session: 'active',
    queue: { pending: 2, oldestSec: 7 },
    pacing: { minGapMs: 1000, maxGapMs: 3000, newPerHour: 20, newLastHour: 3, maxUnanswered: 5 },
    canary: { lastOkAt: '2026-03-01T11:58:00.000Z' },
    lastSentAt: '2026-03-01T12:00:00.000Z',
    lastReceivedAt: null,
  },
  {
    type: 'send',
    requestId,
    messageId: 'JjbvJvzlPsU1sr4yT4hE',
    contactId: 'GKBhT6BfwY9mjzXAU3sq',
    phone: '+15555550100',
    message: 'See you at ten.',
    attachments: [],
    channel: 'imessage',
  },
  { type: 'received', requestId },
  {
    type: 'send',
    requestId,
    messageId: null,
    contactId: 'GKBhT6BfwY9mjzXAU3sq',
    phone: '+15555550100',
    message: 'See you at ten.',
    attachments: [],
    channel: 'sms',
    again: true,
  },
  {
    type: 'message_status',
    seq: 17,
    requestId,
    messageId: 'JjbvJvzlPsU1sr4yT4hE',
    status: 'delivered',
    guid: '0B7F2C1E-5D39-4E0B-8C7A-2F0E7E0D9A11',
  },
  {
    type: 'message_status',
    seq: 18,
    requestId,
    messageId: null,
    status: 'failed',
    error: { code: 'TIMEOUT', message: 'Messages did not respond in time.' },
  },
  { ...received, seq: 19, guid: '9A1C33D0-77B5-4F0D-9B0F-5E1D2C3B4A59', text: 'On my way.' },
  {
    ...received,
    seq: 20,
    guid: '1D0F4B6A-2C85-4D3E-8F7B-9A6C5D4E3F21',
    text: '',
    reaction: {
      kind: 'classic',
      action: 'add',
      type: 'love',
      target_message_guid: '0B7F2C1E-5D39-4E0B-8C7A-2F0E7E0D9A11',
      target_message_guid_raw: 'p:0/0B7F2C1E-5D39-4E0B-8C7A-2F0E7E0D9A11',
    },
  },
  { type: 'ack', seq: 17, outcome: 'delivered' },
  { type: 'ack', seq: 19, outcome: 'rejected', reason: 'The CRM does not know this contact.' },
  { type: 'redeliver', seq: 19 },
  { type: 'reach_request', requestId, phone: '+14155550100' },
  {
    type: 'reach_result',
    requestId,
    reach: 'iMessage',
    reason: 'The newest message to this person was delivered by iMessage.',
  },
];
