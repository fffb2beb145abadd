/** The texts of the pages. Sentences about tenants and messages come from the service. */
export const TEXTS = {
  product: 'Footbridge',
  tenants: 'Tenants',
  messages: 'Messages',
  issues: 'Issues',
  overview: 'Overview',
  skip: 'Skip to the content',
  live: 'Live',
  reconnecting: 'Reconnecting',
  pause: 'Pause',
  paused: 'Paused',
  lightTheme: 'Switch to light theme',
  darkTheme: 'Switch to dark theme',
  utc: 'UTC',
  signOut: 'Sign out',
  signIn: 'Sign in',
  signInTitle: 'Sign in to the console',
  token: 'Operator token',
  tokenHint: 'It is in OPERATOR_TOKEN, or in the file operator-token of the data folder.',
  tokenRejected:
    'The service does not accept this token. Check that it is complete, and that it was not removed.',
  sessionEnded: 'You were signed out: the session has expired, or its token was removed.',
  linkUsed:
    'This sign-in link has been used already, or it is more than a minute old. Run “footbridge console” for a new one.',
  linkInvalid: 'This sign-in link is not complete. Run “footbridge console” for a new one.',
  linkTooMany: 'Too many sign-ins failed. Wait a minute, then run “footbridge console” for a new link.',
  unreachable: 'The service does not respond. This page tries again every few seconds.',
  unexpected: (reason: string) => `The service sent an unexpected response: ${reason}. Reload this page.`,
  allWell: 'All tenants can text.',
  noTenants: 'There are no tenants yet. Create a license, then pair a Mac with a location.',
  problems: (count: number) => `${count} ${count === 1 ? 'tenant needs' : 'tenants need'} attention.`,
  findTenant: 'Find a tenant',
  messagesOf: 'Messages',
  claimed: 'claimed, not assigned',
  search: 'Phone number, message id, request id or contact id',
  searchButton: 'Search',
  location: 'Location',
  direction: 'Direction',
  outbound: 'To the customer',
  inbound: 'From the customer',
  status: 'Status',
  any: 'Any',
  clear: 'Clear filters',
  noMessages: 'No message matches these filters.',
  older: 'Load older messages',
  firstPage: (of: string) => `First page of ${of}`,
  nextPage: (of: string) => `Next page of ${of}`,
  pages: {
    issues: 'issues',
    licenses: 'licenses',
    macs: 'Macs',
    installations: 'installations',
    keys: 'keys',
  },
  newMessages: (count: number, isMore: boolean) =>
    isMore ? `${count} or more new messages` : `${count} new ${count === 1 ? 'message' : 'messages'}`,
  onlyNewest: (count: number) =>
    `Only the newest ${count.toLocaleString('en-US')} messages are shown. Filters find older ones.`,
  time: 'Time',
  kind: 'Kind',
  phone: 'Customer',
  back: 'Back to the messages',
  trail: 'What happened',
  request: (number: number, of: number) => `Request ${number} of ${of}`,
  copyCurl: 'Copy as curl',
  copiedWebhook:
    'Copied: the webhook of this message. Replace CONTACT_ID, PHONE and TEXT; with the same messageId the Mac sends it at most once.',
  copiedInbound: 'Copied: the call to the CRM. Replace CONTACT_ID, TEXT and IDEMPOTENCY_KEY.',
  redeliver: 'Redeliver',
  redelivered: 'The Mac was asked to send it again.',
  released: 'It is no longer set aside: send it again in the CRM.',
  moreTenants: (count: number) => `Show more (${count})`,
  noIssues: 'Nothing is wrong.',
  openIssues: (count: string) => `${count} ${count === '1' ? 'issue is' : 'issues are'} open.`,
  closedIssues: 'Recently closed',
  since: (time: string) => `Since ${time}`,
  affects: 'Affects',
  allLocations: 'all locations',
  andMore: (count: number) => ` and ${count} more`,
  lastDay: 'The last 24 hours.',
  macsConnected: 'Macs connected',
  macsExpected: 'connected / expected',
  messagesOut: 'Messages to customers',
  messagesIn: 'Messages from customers',
  deliveredShare: (share: string) => `${share} delivered`,
  acceptedShare: (share: string) => `${share} accepted by the CRM`,
  openNow: 'open now',
  showTable: 'Show as table',
  hideTable: 'Hide the table',
  halfHourFrom: 'Half hour starting at',
  notKnown: 'not known',
  failuresByCode: 'Failures by code',
  noFailures: 'No message failed.',
  code: 'Code',
  noCode: 'no code',
  count: 'Messages',
  whatToDo: 'What it means, and what to do',
  slowestHops: 'Slowest hops',
  slowestHopsHint: '95 % of the newest 500 messages were at least this fast.',
  hop: 'Hop',
  p95: 'Time',
} as const;

export const SHORTCUT_TEXTS = {
  title: 'Keyboard shortcuts',
  typing: 'They do not act while you type in a field.',
  use: 'Use these keys',
  close: 'Close',
} as const;

/** The keys that `shortcuts.ts` and the pages know, with what they do. */
export const SHORTCUTS: readonly (readonly [keys: readonly string[], action: string])[] = [
  [['j', 'k'], 'Next or previous message or tenant'],
  [['Enter'], 'Open it'],
  [['/'], 'Search messages or tenants'],
  [['f'], 'Filter messages'],
  [['p'], 'Pause or resume the list of messages'],
  [['?'], 'Show this list'],
];

/** Texts of links to the page for the next step. */
export const NEXT_TEXTS = { uncertain: 'Uncertain messages', setAside: 'Messages set aside' } as const;

/** The names of the links of a tenant, in the order of a message. */
export const LINK_NAMES: Readonly<Record<string, string>> = {
  installed: 'App installed',
  webhook: 'Last webhook',
  grant: 'Grant',
  mac: 'Mac',
  messages: 'Messages',
  permissions: 'Permissions',
  queue: 'Queue',
  traffic: 'Traffic',
  crm: 'CRM accepts',
};

export const CLOCK_TEXTS = {
  wrong: (minutes: number) =>
    `This computer’s clock is ${Math.abs(minutes)} minutes ${minutes > 0 ? 'behind' : 'ahead of'} the clock of the service. This page shows the time of the service.`,
} as const;

export const CONFIRM_TEXTS = { keep: 'Keep it', copy: 'Copy', copied: 'Copied' } as const;

export const CAPTURE_TEXTS = {
  hidden: 'Texts are not stored.',
  start: 'Show texts for 15 minutes',
  explanation:
    'Shows only messages that arrive from now on. Texts are kept in memory only, and the audit log records this.',
  until: (time: string) => `The texts of this location are shown until ${time}.`,
  stop: 'Hide texts now',
  missed: 'This message arrived before texts were shown, so its text is not available.',
  text: 'Text',
} as const;

export const MACS_TEXTS = {
  title: 'Macs',
  pair: 'Pair a Mac',
  noLicenses: 'There are no licenses yet. Create one: each Mac takes one seat of a license.',
  newLicense: 'New license',
  label: 'Name',
  seats: 'Seats',
  create: 'Create license',
  keyOnce: 'The license key is shown only once. You do not need it to pair with a code.',
  used: (used: number, max: number) => `${used} of ${max} seats in use`,
  setSeats: 'Change seats',
  suspend: 'Suspend',
  suspendWarning: 'Its Macs stay disconnected until you resume it.',
  resume: 'Resume',
  noDevices: 'No Mac has taken a seat.',
  noDevicesHere: 'None of its Macs is on this page of the list of Macs.',
  mac: 'Mac',
  system: 'System',
  state: 'State',
  locations: 'Connected for',
  lastSeen: 'Last seen',
  revoke: 'Revoke',
  revokeWarning: 'The Mac is disconnected, its seat becomes free, and it cannot activate again.',
  restore: 'Restore',
  notConnected: 'not connected',
  newLastHour: (used: number, limit: number) => `${used} of ${limit} new conversations in the last hour.`,
  newLastDay: (used: number, limit: number) => `${used} of ${limit} new conversations in the last day.`,
  held: (count: number) => `${count} ${count === 1 ? 'message waits' : 'messages wait'} for a limit.`,
  nextSlot: (time: string) => `Next free slot: ${time}.`,
} as const;

export const PAIR_TEXTS = {
  title: 'Pair a Mac',
  intro: 'A pairing code connects one Mac to one location. It works once, within 15 minutes.',
  location: 'Location id',
  locationHint: 'The id of the sub-account in HighLevel.',
  license: 'License',
  licenseHint: 'This location has no license yet. The Mac takes a seat of the one you choose.',
  claimedHint:
    'A Mac claimed this location by itself. Choose the license that it belongs to: Macs of other licenses are disconnected.',
  choose: 'Choose a license',
  seatOf: (license: string) => `The Mac takes a seat of “${license}”.`,
  create: 'Create pairing code',
  newCode: 'Create a new code',
  steps: 'On the Mac',
  stepOne: 'Open Terminal and run:',
  command: 'npx footbridge-agent@latest setup',
  stepTwo: 'Enter this code:',
  qr: 'The pairing code as a QR code',
  expires: (time: string) => `Expires in ${time}.`,
  expired: 'This code has expired.',
  waiting: 'Waiting for the Mac.',
  arrived: (name: string) => `The Mac “${name}” is connected.`,
  next: 'See whether the tenant can text',
} as const;

export const CRM_TEXTS = {
  title: 'Connect HighLevel',
  intro: 'Enter these values in your app at marketplace.gohighlevel.com, then install the app.',
  notHttps: 'HighLevel accepts only https addresses. Set BASE_URL to the public address of this service.',
  delivery: 'Delivery URL',
  deliveryHint: 'Conversation provider of type SMS.',
  redirect: 'Redirect URL',
  redirectHint: 'Advanced settings, Auth.',
  events: 'Webhook URL',
  eventsHint: 'For the events INSTALL, UNINSTALL and ContactDndUpdate.',
  scopes: 'Scopes',
  scopesHint: 'HighLevel locks the scopes when a version is published, so select all of them.',
  install: 'Install link',
  installHint:
    'Open it, or send it to your customer. For a private app, append &version_id= and the version id.',
  open: 'Open the install link',
  disabled:
    'OAuth is off: the service uses private integration tokens. To use an app, set CRM_OAUTH_ENABLED.',
  incomplete: (names: string) => `OAuth is not ready. Set ${names} and restart the service.`,
  state: 'Installations',
  waiting: 'Waiting for an installation. This page updates automatically.',
  installed: (id: string) => `Installed for ${id}.`,
  none: 'The app is not installed anywhere yet.',
  owner: 'Installed for',
  kind: 'Kind',
  grant: 'Grant',
  refreshed: 'Token refreshed',
  active: 'active',
  reauth: 'revoked: install the app again',
} as const;

export const KEYS_TEXTS = {
  title: 'Keys',
  intro: 'A webhook is accepted only if one of these keys signed it.',
  none: 'There are no keys, so every webhook gets 401.',
  preset: "Trust HighLevel's published key",
  add: 'Add a key',
  label: 'Name',
  header: 'Header',
  scheme: 'Scheme',
  publicKey: 'Public key (PEM)',
  addButton: 'Add key',
  rotate: 'To rotate a key, add the new one, wait until the CRM signs with it, then disable the old one.',
  fingerprint: 'Fingerprint',
  limitedTo: 'Locations',
  allLocations: 'all',
  state: 'State',
  enabled: 'enabled',
  disabled: 'disabled',
  settings: 'from the settings',
  enable: 'Enable',
  disable: 'Disable',
  disableWarning: 'Webhooks signed with this key will get 401.',
  remove: 'Remove',
  sample: 'Test a signed sample',
  sampleIntro: 'Paste the raw body of a request and its signature. The sample is not stored.',
  body: 'Body',
  file: 'or a file with the body',
  signature: 'Signature header',
  test: 'Test',
  valid: 'The signature is valid.',
  invalid: (step: string) => `Rejected at the step “${step}”`,
  rejections: 'Rejected within the last hour',
  noRejections: 'The node that serves this page has rejected no signatures.',
  step: 'Step',
  count: 'Count',
  last: 'Last',
  why: 'Meaning',
} as const;

/** The steps of the signature check. */
export const STEP_NAMES: Readonly<Record<string, string>> = {
  header: 'no signature',
  base64: 'not base64',
  length: 'wrong length',
  location: 'other location',
  key: 'no key matches',
  body: 'body changed',
  enabled: 'key disabled',
  verified: 'valid',
};

export const AUDIT_TEXTS = {
  title: 'Audit log',
  intro: 'Every change, with the token that made it.',
  empty: 'There are no entries yet.',
  who: 'Who',
  what: 'What',
  target: 'Object',
  detail: 'Details',
  mac: 'a Mac',
  earlier: 'Operator',
  older: 'Load older entries',
} as const;

/** The actions of the audit log that need other words than their own. */
const ACTION_WORDS: Readonly<Record<string, string>> = {
  'license.created': 'created a license',
  'license.changed': 'changed a license',
  'device.activated': 'took a seat',
  'device.deactivated': 'freed its seat',
  'device.revoked': 'revoked a Mac',
  'device.restored': 'restored a Mac',
  'location.assigned': 'assigned a location to a license',
  'location.released': 'released a location',
  'location.deleted': 'deleted a location',
  'location.disconnected': 'disconnected a Mac',
  'location.pairing_code_created': 'created a pairing code',
  'key.added': 'added a key',
  'key.enabled': 'enabled a key',
  'key.disabled': 'disabled a key',
  'key.removed': 'removed a key',
  'token.created': 'created an operator token',
  'token.removed': 'removed an operator token',
  'session.started': 'signed in',
  'grant.removed': 'removed a grant',
  'private_token.set': 'set a private integration token',
  'private_token.removed': 'removed a private integration token',
  'message.redelivered': 'redelivered a message',
  'capture.started': 'showed texts for 15 minutes',
  'capture.stopped': 'hid texts again',
};
/** Returns `changed retention` for `retention.changed`. */
export const actionWords = (action: string): string =>
  ACTION_WORDS[action] ?? action.split('.').toReversed().join(' ').replaceAll('_', ' ');

/** The kinds of issues that need other words than their own. */
const ISSUE_NAMES: Readonly<Record<string, string>> = {
  store_unreadable: 'Message store unreadable',
  permission_lost: 'Permission missing',
  token_ambiguous: 'Token of one location, several locations',
  crm_rejecting: 'CRM rejects calls',
  queue_old: 'Messages waiting on the Mac',
  sends_failing: 'Texts fail',
  line_silent: 'Unusual silence',
  canary_failed: 'Test texts do not arrive',
  deliveries_uncertain: 'Delivery uncertain',
  seats_exhausted: 'No free seat',
  location_contended: 'Several Macs claim one location',
  clock_doubtful: 'Clock in doubt',
  nodes_separate: 'Nodes do not find each other',
};
/** Returns `Mac offline` for `mac_offline`. */
export const issueName = (kind: string): string =>
  ISSUE_NAMES[kind] ?? kind.replace(/^./, (first) => first.toUpperCase()).replaceAll('_', ' ');

/** The hops of a message. */
export const HOP_NAMES: Readonly<Record<string, string>> = {
  accept: 'Webhook to the socket of the Mac',
  pending: 'CRM accepts “pending”',
  mac: 'Mac sends the message',
  outcome: 'CRM accepts the outcome',
  inbound: 'CRM accepts an inbound message',
};
