import type { FastifyInstance, FastifyRequest } from 'fastify';

import type { TextCapture } from '../../flows/capture/text-capture.ts';
import type { Audit } from '../../ports/audit/audit.ts';
import { asLocation, isoTime, operatorError } from './operator-request.ts';

export interface CaptureRoutesDeps {
  readonly capture: Pick<TextCapture, 'start' | 'stop'>;
  readonly audit: Pick<Audit, 'record'>;
}

interface OfLocation {
  Params: { locationId: string };
}

const NAMED = { config: { locations: 'named' } } as const;

/** `PUT`, `DELETE /operator/locations/:locationId/capture`: shows the texts of a location for 15 minutes. */
export function captureRoutes({ capture, audit }: CaptureRoutesDeps) {
  const record = ({ operator }: FastifyRequest, action: string, target: string) =>
    audit.record({ actor: 'operator', name: operator.label, action, target });

  return (app: FastifyInstance): void => {
    app.put<OfLocation>('/operator/locations/:locationId/capture', NAMED, async (request) => {
      const locationId = asLocation(request.params.locationId);
      // Recorded first: no text is shown without an entry in the audit log.
      await record(request, 'capture.started', locationId);
      return { locationId, until: isoTime(await capture.start(locationId)) };
    });

    app.delete<OfLocation>('/operator/locations/:locationId/capture', NAMED, async (request, reply) => {
      const { locationId } = request.params;
      if (!(await capture.stop(locationId)))
        throw operatorError('NOT_FOUND', 'The texts of this location are not captured.');
      await record(request, 'capture.stopped', locationId);
      return reply.code(204).send();
    });
  };
}
