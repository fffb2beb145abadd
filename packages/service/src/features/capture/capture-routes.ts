import { startCapture, stopCapture } from '@footbridge/protocol/operator/people';
import type { FastifyInstance, FastifyRequest } from 'fastify';

import type { TextCapture } from './text-capture.ts';
import type { Audit } from '../../platform/operator/audit.ts';
import { isoTime, operatorError } from '../../platform/operator/operator-request.ts';
import { serveCall } from '../../platform/operator/serve-call.ts';

export interface CaptureRoutesDeps {
  readonly capture: Pick<TextCapture, 'start' | 'stop'>;
  readonly audit: Pick<Audit, 'record'>;
}

/** `PUT`, `DELETE /operator/locations/:locationId/capture`: shows the texts of a location for 15 minutes. */
export function captureRoutes({ capture, audit }: CaptureRoutesDeps) {
  const record = ({ operator }: FastifyRequest, action: string, target: string) =>
    audit.record({ actor: 'operator', name: operator.label, action, target });

  return (app: FastifyInstance): void => {
    serveCall(app, startCapture, async ({ params: { locationId }, request }) => {
      // Recorded first: no text is shown without an entry in the audit log.
      await record(request, 'capture.started', locationId);
      return { locationId, until: isoTime(await capture.start(locationId)) };
    });

    serveCall(app, stopCapture, async ({ params: { locationId }, request }) => {
      if (!(await capture.stop(locationId)))
        throw operatorError('NOT_FOUND', 'The texts of this location are not captured.');
      await record(request, 'capture.stopped', locationId);
    });
  };
}
