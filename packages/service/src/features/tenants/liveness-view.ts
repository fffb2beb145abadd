import type { Liveness } from './liveness.ts';
import { isoTime } from '../../platform/operator/operator-request.ts';

export const livenessView = (liveness: Liveness | null) =>
  liveness === null
    ? null
    : {
        state: liveness.state,
        reason:
          liveness.reason === null
            ? null
            : {
                ...liveness.reason,
                since: liveness.reason.since === null ? null : isoTime(liveness.reason.since),
              },
      };
