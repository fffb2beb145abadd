import { hostname } from 'node:os';

import { asDeviceId } from '@footbridge/protocol/ids';
import type { Log } from '@footbridge/runtime/log';

import type { AgentConfig } from '../config/config.ts';
import { AGENT_VERSION } from '../config/version.ts';
import { makeDataDir } from '../edges/data-dir.ts';
import { stableDeviceId } from '../edges/enrolment/device-id.ts';
import { Enrolment } from '../edges/enrolment/enrolment.ts';

export async function openEnrolment(
  config: Pick<AgentConfig, 'url' | 'dataDir' | 'license' | 'deviceId'>,
  osVersion: string,
  log: Log,
): Promise<Enrolment> {
  const { url, dataDir, license } = config;
  makeDataDir(dataDir);
  const deviceId = asDeviceId(config.deviceId) ?? (await stableDeviceId(dataDir));
  return new Enrolment({
    url,
    dataDir,
    license,
    deviceId,
    name: hostname().slice(0, 64) || 'Mac',
    osVersion,
    appVersion: AGENT_VERSION,
    log,
  });
}
