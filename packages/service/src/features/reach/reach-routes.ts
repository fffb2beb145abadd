import type { LocationId } from '@footbridge/protocol/ids';
import { maskHandle } from '@footbridge/protocol/mask-handle';
import { askReach } from '@footbridge/protocol/operator/people';
import type { FastifyInstance } from 'fastify';

import type { Reach } from './ask-reach.ts';
import { isoTime, operatorError } from '../../platform/operator/operator-request.ts';
import { serveCall } from '../../platform/operator/serve-call.ts';

export interface ReachRoutesDeps {
  readonly reachOf: (locationId: LocationId, phone: string) => Promise<Reach | 'not_connected'>;
  /** Returns a phone number in E.164, or an email address. Undefined: it is neither. */
  readonly asHandle: (given: string) => string | undefined;
}

/** `GET /operator/locations/:locationId/reach`: whether a person is reached by iMessage or SMS. */
export function reachRoutes({ reachOf, asHandle }: ReachRoutesDeps) {
  return (app: FastifyInstance): void => {
    serveCall(app, askReach, async ({ params: { locationId }, query }) => {
      const phone = asHandle(query.phone);
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
