import type { SendFrame } from '@footbridge/protocol/frames';
import type { LocationId } from '@footbridge/protocol/ids';

import type { Host } from '../../platform/host.ts';
import { Occurrence, Slot } from '../../platform/extension-points.ts';
import { RecentOccurrences } from '../../platform/recent-occurrences.ts';
import type { ValuesOf } from '../../platform/settings/setting.ts';
import type { Suspects } from '../../platform/suspects/suspects-sql.ts';
import { Handovers } from '../accounts/handovers.ts';
import type { Locations } from '../accounts/locations-sql.ts';
import type { CrmRoom } from '../crm/room.ts';
import type { InboundRoom } from '../inbound/room.ts';
import type { Journal } from '../journal/journal-sql.ts';
import type { Texts } from '../journal/texts.ts';
import type { KeysRoom } from '../keys/room.ts';
import { SignatureCheck } from '../keys/verify-signature.ts';
import type { Phones } from '../people/handles.ts';
import type { StatusReports } from '../status/report-statuses.ts';
import type { Switchboard } from '../switchboard/switchboard.ts';
import type { HandleAppEvent } from './app-events.ts';
import { appEventsRoutes } from './app-events-routes.ts';
import { NOBODY } from './check-message.ts';
import type { IsSuppressed } from './check-message.ts';
import { rejectedSignatures } from './find-rejected-signatures.ts';
import { receiveWebhook } from './receive-webhook.ts';
import type { OutboundDeps } from './receive-webhook.ts';
import type { WEBHOOK } from './settings.ts';
import { ReplayMemory } from './recognise-replay.ts';
import { seenRequests } from './seen-requests-sql.ts';
import { webhookRoute } from './webhook-route.ts';
import type { HandledRequest } from './webhook-route.ts';

const DAY_MS = 86_400_000;
const EVENTS_KEPT_MS = 7 * DAY_MS;
const QUARTER_HOUR_MS = 900_000;
/** A message without a result for this long is stuck. */
const STUCK_MS = 600_000;

export interface WebhookDeps {
  readonly suspects: Suspects;
  readonly phones: Phones;
  readonly journal: Journal;
  readonly texts: Slot<Texts>;
  readonly keys: KeysRoom;
  readonly crm: CrmRoom;
  readonly switchboard: Switchboard;
  readonly locations: Pick<Locations, 'handovers'>;
  readonly statuses: StatusReports;
  readonly inbound: Pick<InboundRoom, 'contacts'>;
}

export interface WebhookRoom {
  readonly route: ReturnType<typeof webhookRoute>;
  /** Whether a person does not want texts. */
  readonly optOuts: Slot<IsSuppressed>;
  /** What handles the signed events of the CRM, by type. */
  readonly appEvents: Map<string, HandleAppEvent>;
  /** Whether an event with this app id belongs to another app. */
  readonly isForeignApp: Slot<(appId: unknown) => boolean>;
  /** A text was forwarded to a Mac. */
  readonly forwarded: Occurrence<[locationId: LocationId, frame: SendFrame]>;
  /** A webhook was responded to. */
  readonly handled: Occurrence<[HandledRequest]>;
}

/** The way of a text from the CRM to a Mac, and the CRM's app events. */
export async function openWebhook(
  host: Host,
  deps: WebhookDeps,
  settings: WebhookSettings,
): Promise<WebhookRoom> {
  const { db, clock, log, metrics, changes } = host;
  const { keys, locations } = deps;
  const seen = seenRequests({ db, clock });
  host.expires('replay.prune_failed', () => seen.prune());
  const handovers = await Handovers.open({ locations, changes, clock, log });
  host.stops('handovers', () => handovers.close());
  const optOuts = new Slot<IsSuppressed>('webhook.optOuts', NOBODY);
  const appEvents: WebhookRoom['appEvents'] = new Map();
  const isForeignApp: WebhookRoom['isForeignApp'] = new Slot('webhook.isForeignApp', () => false);
  const forwarded: WebhookRoom['forwarded'] = new Occurrence('webhook.forwarded', host);
  const handled: WebhookRoom['handled'] = new Occurrence('webhook.handled', host);
  /** Webhooks whose signature header is known but whose signature no key verifies. */
  const badSignatures = new RecentOccurrences(() => clock.now(), QUARTER_HOUR_MS);
  const receive = receiveWebhook({
    ...host,
    ...deps,
    ...keys.signatures,
    forwarded,
    handovers,
    reports: deps.statuses,
    optOuts,
    replays: settings.replayMemory
      ? new ReplayMemory({ seen, kind: 'webhook', keptMs: DAY_MS, clock, log })
      : undefined,
    settings,
  });
  host.publicRoutes(
    appEventsRoutes({
      signatures: new SignatureCheck(keys.signatures),
      handlers: appEvents,
      replays: new ReplayMemory({ seen, kind: 'event', keptMs: EVENTS_KEPT_MS, clock, log }),
      onReplay: () => metrics.duplicate('event'),
      isForeign: (appId) => isForeignApp.value(appId),
      now: () => clock.now(),
      log,
      onUnsigned: (fault) => keys.rejected(fault),
    }),
  );
  const route = webhookRoute({
    receive,
    metrics,
    handled,
    onUnsigned(fault) {
      keys.rejected(fault);
      if (fault.header !== null) badSignatures.add('webhooks');
    },
  });
  host.finds({
    async find() {
      const at = clock.now();
      metrics.stuckPending(await deps.journal.unfinishedSends(at - DAY_MS, at - STUCK_MS));
      return rejectedSignatures(badSignatures.of('webhooks'));
    },
  });
  return { route, optOuts, appEvents, isForeignApp, forwarded, handled };
}

export type WebhookSettings = OutboundDeps['settings'] & ValuesOf<typeof WEBHOOK>;
