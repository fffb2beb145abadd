import type { LocationId } from '@footbridge/protocol/ids';
import { maskHandle } from '@footbridge/protocol/mask-handle';
import { askReach } from '@footbridge/protocol/operator/people';
import type { FastifyInstance } from 'fastify';

import type { Reach } from './ask-reach.ts';
import { isoTime, operatorError } from '../../platform/operator/operator-request.ts';
import { serveCall } from '../../platform/operator/serve-call.ts';
import type { Phones } from '../../relay/people/phones.ts';

export interface ReachRoutesDeps {
  readonly reachOf: (locationId: LocationId, phone: string) => Promise<Reach | 'not_connected'>;
  readonly phones: Pick<Phones, 'handle'>;
}

/** `GET /operator/locations/:locationId/reach`: whether a person is reached by iMessage or SMS. */
export function reachRoutes({ reachOf, phones }: ReachRoutesDeps) {
  return (app: FastifyInstance): void => {
    serveCall(app, askReach, async ({ params: { locationId }, query }) => {
      const phone = phones.handle(query.phone);
      if (phone === undefined)
        throw operatorError(
          'INVALID_REQUEST',
          'phone: not a phone number or an email address. Write the number with its country code, such as +15555550100.',
        );
      const found = await reachOf(locationId, phone);
      if (found === 'not_connected')
        throw operatorError('CONFLICT', 'The Mac of this location is not connected. Try again when it is.');
      const { reach, reason, at } = found;
      return { phone: maskHandle(phone), reach, reason, at: isoTime(at) };
    });
  };
}
