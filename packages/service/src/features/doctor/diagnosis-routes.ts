import type { ResponseOf } from '@footbridge/protocol/operator/call';
import { showDiagnosis } from '@footbridge/protocol/operator/watching';
import { isObject } from '@footbridge/protocol/schema';
import type { FastifyInstance } from 'fastify';

import { serveCall } from '../../platform/operator/serve-call.ts';

/** The result of one call to an address. */
type Probe =
  | { readonly status: number; readonly ms: number; readonly date: number | null; readonly json: unknown }
  | { readonly status: 0; readonly ms: number; readonly code: string };

export interface DiagnosisDeps {
  readonly version: string;
  readonly settings: ResponseOf<typeof showDiagnosis>['settings'];
  readonly uptimeSec: () => number;
  readonly publicUrl: () => string;
  readonly now: () => number;
  readonly probe: (address: string) => Promise<Probe>;
}

/** The uptime is counted in whole seconds, and a call takes time. */
const SAME_START_SEC = 3;

/** `GET /operator/diagnosis`: the facts that `footbridge doctor` needs from the service, and the results of calls to the CRM and to its own public address. Contains no secret. */
export function diagnosisRoutes(deps: DiagnosisDeps) {
  const { version, settings, uptimeSec, now } = deps;

  async function found(url: string, path = '/') {
    const probe = await deps.probe(url + path);
    if ('code' in probe) return { url, status: 0, code: probe.code, ms: probe.ms };
    const { status, ms, date, json } = probe;
    const clockSkewSec = date === null ? null : Math.round((date - now()) / 1000);
    return { url, status, ms, clockSkewSec, json };
  }

  function identityOf(json: unknown): 'this' | 'other' | 'unknown' {
    if (!isObject(json) || typeof json['uptimeSec'] !== 'number' || typeof json['version'] !== 'string')
      return 'unknown';
    const isThis = json['version'] === version && Math.abs(json['uptimeSec'] - uptimeSec()) <= SAME_START_SEC;
    return isThis ? 'this' : 'other';
  }

  return (app: FastifyInstance): void => {
    serveCall(app, showDiagnosis, async () => {
      const { json: _answer, ...crm } = await found(settings.crmHost);
      const { json, ...publicAddress } = await found(deps.publicUrl(), '/health');
      return {
        version,
        uptimeSec: uptimeSec(),
        settings,
        crm,
        publicAddress: { ...publicAddress, identity: identityOf(json) },
      };
    });
  };
}
