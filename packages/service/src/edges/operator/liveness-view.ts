import type { Liveness } from '../../flows/tenants/liveness.ts';
import { isoTime } from './operator-request.ts';

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
