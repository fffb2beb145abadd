import { createLog } from '@footbridge/runtime/log';

import type { Settings } from '../config/config.ts';
import { SETTINGS } from '../config/settings.ts';
import { readPairingCode } from '../edges/enrolment/pairing-code.ts';
import { saveSettings } from '../edges/enrolment/save-settings.ts';
import { openEnrolment } from '../open/enrolment.ts';
import { EXIT } from './exit-codes.ts';
import { warnIfUnencrypted } from './output.ts';
import type { Output } from './output.ts';

/** Exchanges a pairing code for a device token, and saves the address and the location (M12). */
export async function pair(typed: string, settings: Settings, output: Output): Promise<number> {
  const paired = await pairMac(typed, settings);
  if (!paired.ok) {
    output.problem(`${paired.message}.`, paired.code);
    return paired.exitCode;
  }
  const { url, location } = paired;
  warnIfUnencrypted(url, output);
  output.result({ paired: true, url, location }, `This Mac is paired with ${url} for ${location}.`);
  return EXIT.done;
}

export type Paired =
  | { readonly ok: true; readonly url: string; readonly location: string }
  | { readonly ok: false; readonly code: string; readonly message: string; readonly exitCode: number };

export async function pairMac(typed: string, settings: Settings): Promise<Paired> {
  const read = readPairingCode(typed);
  if (read === undefined)
    return notPaired(
      'PAIRING_CODE_INVALID',
      'A pairing code looks like K7QF-3M9X@bridge.example.com',
      EXIT.usage,
    );
  const url = read.url ?? settings.url;
  const { dataDir, deviceId, macos } = settings;
  if (url === undefined || dataDir === undefined || macos === undefined)
    return notPaired(
      'ADDRESS_MISSING',
      'The code has no address. Add it, as in K7QF-3M9X@bridge.example.com, or pass --url',
      EXIT.usage,
    );
  const enrolment = await openEnrolment(
    { url, dataDir, license: undefined, deviceId },
    macos,
    createLog('silent'),
  );
  const paired = await enrolment.pair(read.code);
  if (!paired.ok)
    return notPaired(paired.code, paired.message, paired.final ? EXIT.unauthorised : EXIT.unreachable);
  await saveSettings(dataDir, { [SETTINGS.url.name]: url, [SETTINGS.location.name]: paired.location });
  return { ok: true, url, location: paired.location };
}

function notPaired(code: string, message: string, exitCode: number): Paired {
  return { ok: false, code, message, exitCode };
}
