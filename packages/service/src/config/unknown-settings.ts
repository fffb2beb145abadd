import { closestName } from '@footbridge/runtime/closest-name';
import type { Environment } from '@footbridge/runtime/settings';

import { SETTINGS } from './settings.ts';
import type { Setting } from './settings.ts';

const OURS =
  /^(CRM|RATE_LIMIT|ASSET|MAC|INBOUND|FOOTER|MESSAGE_BODY|MESSAGE_MAX|LOCATION|OPERATOR|REPLAY|ALLOW|ALERT)_/;
const MAX_EDITS = 5;

/** Returns a warning for each unknown name that looks like a setting: a typo would otherwise be ignored silently. */
export function unknownSettings(env: Environment): string[] {
  const known = Object.values(SETTINGS).flatMap((setting: Setting) =>
    setting.fromFile ? [setting.name, `${setting.name}_FILE`] : [setting.name],
  );
  return Object.keys(env)
    .filter((name) => OURS.test(name) && !known.includes(name))
    .map((name) => {
      const closest = closestName(name, known, MAX_EDITS);
      return `${name} is not a setting${closest === undefined ? '' : `; did you mean ${closest}?`}`;
    });
}
