import { isoTime } from '../../platform/operator/operator-request.ts';

/** Whether texts get through a line. */
export interface Liveness {
  /** `degraded`: some texts do not get through, or it is likely that none does. `dead`: none can. */
  readonly state: 'alive' | 'degraded' | 'dead';
  readonly reason: { readonly kind: string; readonly sentence: string; readonly since: number | null } | null;
}

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
