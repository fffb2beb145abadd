import type { Feature } from '../../platform/host.ts';
import type { HTTP } from '../../platform/http/settings.ts';
import type { ValuesOf } from '../../platform/settings/setting.ts';
import type { CRM } from '../../relay/crm/settings.ts';
import type { INBOUND } from '../../relay/inbound/settings.ts';
import type { Relay } from '../../relay/relay.ts';
import { crmCheckRoutes } from './crm-check-routes.ts';
import { diagnosisRoutes } from './diagnosis-routes.ts';
import type { DiagnosisDeps } from './diagnosis-routes.ts';

export type DoctorSettings = Pick<DiagnosisDeps, 'version' | 'uptimeSec'> &
  ValuesOf<typeof HTTP & typeof CRM & typeof INBOUND> & {
    /** The warnings that were logged at the start. */
    readonly warnings: readonly string[];
    readonly app: {
      readonly state: DiagnosisDeps['settings']['oauth'];
      readonly missing?: readonly string[];
    };
  };

/** For calls that only show whether the CRM accepts the token. The number is reserved for fiction. */
const UNUSED_NUMBER = '+12025550199';
const UNUSED_CONTACT = 'footbridge-check';

/** What `footbridge doctor` needs from the service. */
export const doctor: Feature<Pick<Relay, 'crm' | 'conversations'>, DoctorSettings> = {
  name: 'doctor',
  start(host, { crm, conversations }, settings) {
    host.operatorRoutes(
      diagnosisRoutes({
        version: settings.version,
        uptimeSec: settings.uptimeSec,
        settings: {
          warnings: settings.warnings,
          oauth: settings.app.state,
          missing: settings.app.missing ?? [],
          baseUrl: settings.baseUrl ?? null,
          crmHost: settings.crmHost,
          conversationProviderId: settings.conversationProviderId ?? null,
          inboundType: settings.inboundType,
          database: host.database.engine,
          nodes: host.isSingleNode ? 'one' : 'several',
        },
        publicUrl: host.publicUrl,
        now: () => host.clock.now(),
        probe: (address) => crm.probe(address),
      }),
      crmCheckRoutes({
        calls: {
          'contacts.readonly': (locationId) => crm.contacts.find(locationId, UNUSED_NUMBER, {}),
          'conversations.readonly': (locationId) => conversations.find(locationId, UNUSED_CONTACT, {}),
        },
      }),
    );
  },
};
