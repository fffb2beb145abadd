import { erasePerson, exportPerson } from '@footbridge/protocol/operator/people';
import type { FastifyInstance, FastifyRequest } from 'fastify';

import type { PersonData } from './person-data.ts';
import type { Audit, AuditDetail } from '../../platform/operator/audit.ts';
import type { AssetRecord } from '../../relay/assets/asset-index.ts';
import type { MessageTrail, PersonQuery } from '../../relay/journal/journal.ts';
import { changedLocations, visibleLocations } from '../../platform/operator/operator-auth.ts';
import { messageHistory } from '../../relay/journal/messages-routes.ts';
import { isoTime, operatorError } from '../../platform/operator/operator-request.ts';
import { serveCall } from '../../platform/operator/serve-call.ts';

export interface PrivacyRoutesDeps {
  readonly person: PersonData;
  /** Returns the forms in which a phone number or an email address may be recorded. Empty: it is neither. */
  readonly handlesOf: (given: string) => readonly string[];
  /** Returns the text of a message while its location is captured. */
  readonly textOf: (locationId: string, id: string) => string | undefined;
  readonly publicUrl: () => string;
  readonly audit: Pick<Audit, 'record'>;
}

type Locations = PersonQuery['locationIds'];

/**
 * `POST /operator/privacy/export`, `POST /operator/privacy/erase`: the data of one person. The number is in the body, because proxies log
 * URLs; it never appears in the audit log.
 */
export function privacyRoutes({ person, handlesOf, textOf, publicUrl, audit }: PrivacyRoutesDeps) {
  function handlesIn(phone: string): readonly string[] {
    const handles = handlesOf(phone);
    if (handles.length === 0)
      throw operatorError(
        'INVALID_REQUEST',
        'phone: not a phone number or an email address. Write the number with its country code, such as +15555550100.',
      );
    return handles;
  }

  const record = (
    { operator }: FastifyRequest,
    action: string,
    locationIds: Locations,
    more?: AuditDetail,
  ) => {
    // `*` alone reads as all locations.
    const isSome = locationIds !== undefined && locationIds.length !== 1;
    const detail = { ...(isSome && { locations: locationIds.length }), ...more };
    return audit.record({
      actor: 'operator',
      name: operator.label,
      action,
      target: locationIds?.length === 1 ? String(locationIds[0]) : '*',
      ...(Object.keys(detail).length > 0 && { detail }),
    });
  };

  const message = (trail: MessageTrail) => ({
    ...messageHistory(trail),
    text: textOf(trail.locationId, trail.id) ?? null,
  });
  const file = ({ id, name, createdAt, expiresAt, ...rest }: AssetRecord) => ({
    id,
    locationId: rest.locationId,
    name,
    contentType: rest.contentType,
    size: rest.size,
    sha256: rest.sha256,
    url: `${publicUrl()}/assets/${id}/${encodeURIComponent(name)}`,
    createdAt: isoTime(createdAt),
    expiresAt: isoTime(expiresAt),
  });

  return (app: FastifyInstance): void => {
    serveCall(app, exportPerson, async ({ body, request }) => {
      const { cursor, limit = 200, phone, locationId } = body;
      const locationIds = visibleLocations(request, locationId);
      const query: PersonQuery = { handles: handlesIn(phone), locationIds };
      // Recorded first: nothing is shown without an entry in the audit log.
      await record(request, 'privacy.exported', locationIds);
      const page = await person.messages(query, limit, cursor);
      const messages = page.messages.map(message);
      if (cursor !== undefined) return { messages, cursor: page.cursor };
      const { contacts, files, optOuts, reach } = await person.records(query);
      return {
        contacts,
        files: files.map(file),
        optOuts: optOuts.map(({ since, ...entry }) => ({ ...entry, since: isoTime(since) })),
        reach: reach.map(({ since, ...entry }) => ({ ...entry, since: isoTime(since) })),
        messages,
        cursor: page.cursor,
      };
    });

    serveCall(app, erasePerson, async ({ body: { phone, locationId }, request }) => {
      const locationIds = changedLocations(request, locationId);
      const handles = handlesIn(phone);
      await record(request, 'privacy.erase_requested', locationIds);
      const erased = await person.erase({ handles, locationIds });
      await record(request, 'privacy.erased', locationIds, { ...erased });
      return erased;
    });
  };
}
