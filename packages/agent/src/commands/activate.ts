import { createLog } from '@footbridge/runtime/log';

import type { Settings } from '../config/config.ts';
import type { Activation } from '../edges/enrolment/enrolment.ts';
import { openEnrolment } from '../open/enrolment.ts';
import { EXIT } from './exit-codes.ts';
import { warnIfUnencrypted } from './output.ts';
import type { Output } from './output.ts';

/** Takes a seat of the license for this Mac and saves the token. */
export async function activate(settings: Settings, output: Output): Promise<number> {
  const activated = await activateMac(settings);
  if (activated === undefined) return missingUrl(output);
  if (activated.ok) {
    const { seats } = activated;
    warnIfUnencrypted(settings.url, output);
    const used = seats === undefined ? '' : ` Seats in use: ${seats.used} of ${seats.max}.`;
    output.result(
      { activated: true, seats },
      `This Mac is activated.${used} Next: footbridge-agent run --simulate`,
    );
    return EXIT.done;
  }
  output.problem(`${activated.message}.`, activated.code);
  return activated.final ? EXIT.unauthorised : EXIT.unreachable;
}

/** Activates this Mac. Resolves with undefined when the address of the service is missing. */
export async function activateMac(settings: Settings): Promise<Activation | undefined> {
  return await (await enrolmentOf(settings))?.activate();
}

/** Releases the seat, so that another Mac can take it. */
export async function deactivate(settings: Settings, output: Output): Promise<number> {
  const enrolment = await enrolmentOf(settings);
  if (enrolment === undefined) return missingUrl(output);
  if ((await enrolment.savedToken()) === undefined) {
    output.problem('This Mac is not activated with that service. Check --url and --data-dir.');
    return EXIT.failed;
  }
  if (await enrolment.deactivate()) {
    output.result({ activated: false }, 'This Mac is deactivated and its seat is free.');
    return EXIT.done;
  }
  output.problem(
    'The service could not be reached, so the seat is still taken. Check the network and try again.',
  );
  return EXIT.unreachable;
}

function missingUrl(output: Output): number {
  output.problem('--url (FOOTBRIDGE_URL) is missing');
  return EXIT.configuration;
}

async function enrolmentOf(
  settings: Settings,
): Promise<Awaited<ReturnType<typeof openEnrolment>> | undefined> {
  const { url, dataDir, license, deviceId, macos } = settings;
  if (url === undefined || dataDir === undefined || macos === undefined) return undefined;
  return await openEnrolment({ url, dataDir, license, deviceId }, macos, createLog('silent'));
}
