import { startCapture, stopCapture } from '@footbridge/protocol/operator/people';

import type { Feature } from '../../platform/host.ts';
import { isoTime, operatorError } from '../../platform/operator/operator-request.ts';
import type { Relay } from '../../relay/relay.ts';
import { captures } from './captures-sql.ts';
import { TextCapture } from './text-capture.ts';

/** Shows the texts of a location to the operator for 15 minutes. */
export const capture: Feature<Pick<Relay, 'texts'>, {}> = {
  name: 'capture',
  async start(host, relay) {
    const texts = await TextCapture.open({ ...host, captures: captures(host) });
    relay.texts.fillWith(texts, () => texts.close());
    host.keepsAboutPeople({ forget: (locationId) => texts.forgetTexts(locationId) });

    host.serve(startCapture, async (called) => {
      const { locationId } = called.params;
      // Recorded first: no text is shown without an entry in the audit log.
      await host.audit(called, 'capture.started', locationId);
      return { locationId, until: isoTime(await texts.start(locationId)) };
    });

    host.serve(stopCapture, async (called) => {
      const { locationId } = called.params;
      if (!(await texts.stop(locationId)))
        throw operatorError('NOT_FOUND', 'The texts of this location are not captured.');
      await host.audit(called, 'capture.stopped', locationId);
    });
  },
};
