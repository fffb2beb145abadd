import type { Feature } from '../../platform/host.ts';
import type { Relay } from '../../relay/relay.ts';
import { crmCheckRoutes } from './crm-check-routes.ts';
import { diagnosisRoutes } from './diagnosis-routes.ts';
import type { DiagnosisDeps } from './diagnosis-routes.ts';

export type DoctorSettings = Pick<DiagnosisDeps, 'version' | 'config' | 'warnings' | 'uptimeSec'>;

/** For calls that only show whether the CRM accepts the token. The number is reserved for fiction. */
const UNUSED_NUMBER = '+12025550199';
const UNUSED_CONTACT = 'footbridge-check';

/** What `footbridge doctor` needs from the service. */
export const doctor: Feature<Pick<Relay, 'crm' | 'conversations'>, DoctorSettings> = {
  name: 'doctor',
  start(host, { crm, conversations }, settings) {
    host.operatorRoutes(
      diagnosisRoutes({
        ...settings,
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
