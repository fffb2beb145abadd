import type { MessageReceivedFrame } from '@footbridge/protocol/frames';
import type { LocationId } from '@footbridge/protocol/ids';

import type { Host } from '../../platform/host.ts';
import { Occurrence, Slot } from '../../platform/extension-points.ts';
import type { ValuesOf } from '../../platform/settings/setting.ts';
import type { Suspects } from '../../platform/suspects/suspects-sql.ts';
import type { AssetsRoom } from '../assets/room.ts';
import type { CrmRoom } from '../crm/room.ts';
import type { CRM } from '../crm/settings.ts';
import type { Journal } from '../journal/journal-sql.ts';
import type { Texts } from '../journal/texts.ts';
import type { Phones } from '../people/handles.ts';
import { leaseChecks } from '../switchboard/lease-fence.ts';
import type { Switchboard } from '../switchboard/switchboard.ts';
import { createConversationCalls } from './conversation-calls.ts';
import type { ConversationCalls } from './conversation-calls.ts';
import { createInbound } from './deliver-inbound.ts';
import type { Inbound } from './deliver-inbound.ts';
import { uncertainDeliveries } from './find-uncertain.ts';
import { OPEN } from './gate.ts';
import type { Deliver, Gate } from './gate.ts';
import { Guids } from './guids-sql.ts';
import { createInboundCalls } from './inbound-calls.ts';
import { createPrepareAttachments } from './prepare-attachments.ts';
import type { INBOUND } from './settings.ts';
import { createUploadCalls } from './upload-calls.ts';

const DAY_MS = 86_400_000;
const MAX_UNCERTAIN = 200;

export interface InboundRoomDeps {
  readonly suspects: Suspects;
  readonly phones: Phones;
  readonly journal: Journal;
  readonly texts: Slot<Texts>;
  readonly crm: CrmRoom;
  readonly switchboard: Switchboard;
  readonly files: Pick<AssetsRoom, 'assets' | 'index'>;
}

export interface InboundRoom {
  readonly deliver: Deliver;
  /** What happens to a message before it is delivered. */
  readonly gate: Slot<Gate>;
  /** The CRM has accepted a message. */
  readonly delivered: Occurrence<[locationId: LocationId, frame: MessageReceivedFrame]>;
  readonly contacts: Inbound['contacts'];
  readonly conversations: ConversationCalls;
  /** Deletes what no Mac sends again. */
  prune(olderThanMs: number): Promise<unknown>;
}

/** The way of a message from a Mac to the CRM. */
export function openInbound(
  host: Host,
  { suspects, phones, journal, texts, crm, switchboard, files }: InboundRoomDeps,
  settings: ValuesOf<typeof INBOUND & typeof CRM>,
): InboundRoom {
  const { metrics, database, clock, node } = host;
  const guids = new Guids({ database, clock, owner: node });
  const conversations = createConversationCalls(crm.client);
  const inbound = createInbound({
    ...host,
    ...leaseChecks(host, switchboard),
    otherNodes: !host.isSingleNode,
    journal,
    guids,
    suspects,
    calls: createInboundCalls(crm.client, {
      type: settings.inboundType,
      conversationProviderId: settings.conversationProviderId,
      sendAltId: settings.sendAltId,
    }),
    contacts: crm.contacts,
    conversations,
    settings,
    attachments: createPrepareAttachments({
      ...host,
      ...files,
      storage: settings.uploadAttachments ? createUploadCalls(crm.client) : undefined,
    }),
    texts,
    phones,
    count: metrics.inbound,
    countLookUp: metrics.inboundLookUp,
  });
  host.stops('inbound', () => inbound.close());
  metrics.readAtScrape('footbridge_inbound_oldest_unacked_seconds', () => inbound.oldestSec);
  host.keepsAboutPeople({
    section: 'contacts',
    async read({ handles, locationIds }) {
      const all = inbound.contacts.contactsOf(handles, phones);
      return all.filter(({ locationId }) => locationIds === undefined || locationIds.includes(locationId));
    },
    forget: (locationId) => inbound.contacts.clear(locationId),
  });

  host.finds({
    async find() {
      const from = clock.now() - DAY_MS;
      const query = { direction: 'inbound', code: 'UNCERTAIN', from, limit: MAX_UNCERTAIN } as const;
      return uncertainDeliveries((await journal.list(query)).messages);
    },
  });

  const gate = new Slot<Gate>('inbound.gate', OPEN);
  const delivered: InboundRoom['delivered'] = new Occurrence('inbound.delivered', host);
  let gated: Deliver | undefined;
  const deliver: Deliver = async (lease, frame) => {
    const ack = await inbound.deliver(lease, frame);
    if (ack !== 'retry' && ack.outcome === 'delivered') delivered.happened(lease.locationId, frame);
    return ack;
  };
  return {
    deliver: (lease, frame) => (gated ??= gate.value(deliver))(lease, frame),
    gate,
    delivered,
    contacts: inbound.contacts,
    conversations,
    prune: (olderThanMs) => guids.prune(olderThanMs),
  };
}
