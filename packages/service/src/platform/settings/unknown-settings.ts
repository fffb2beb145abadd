import { closestName } from '@footbridge/runtime/closest-name';
import type { Environment } from '@footbridge/runtime/settings';

import { SETTINGS } from './settings.ts';
import type { Setting } from './settings.ts';

const OURS =
  /^(CRM|RATE_LIMIT|ASSET|MAC|INBOUND|FOOTER|MESSAGE_BODY|MESSAGE_MAX|LOCATION|OPERATOR|REPLAY|ALLOW|ALERT|BACKUP|ACCESS)_/;
/** Variables that other programs read: Node, npm, the command line and the agent. */
const OF_OTHERS =
  /^(NODE_(?!SECRET)|npm_|FOOTBRIDGE_|COMPOSE_|TZ$|PATH$|HOME$|LANG$|LC_|NO_COLOR$|FORCE_COLOR$)/;
const MAX_EDITS = 5;

/** Returns a warning for each unknown name that looks like a setting: a typo would otherwise be ignored silently. */
export const unknownSettings = (env: Environment): string[] =>
  namesOutsideSettings(Object.keys(env).filter((name) => OURS.test(name)));

/** Returns a warning for each of these names that is not a setting. */
export function namesOutsideSettings(names: readonly string[]): string[] {
  const known = Object.values(SETTINGS).flatMap((setting: Setting) => [
    setting.name,
    ...(setting.fromFile ? [`${setting.name}_FILE`] : []),
    ...(setting.alias === undefined ? [] : [setting.alias]),
  ]);
  return names
    .filter((name) => !known.includes(name) && !OF_OTHERS.test(name))
    .map((name) => {
      const closest = closestName(name, known, MAX_EDITS);
      return `${name} is not a setting${closest === undefined ? '' : `; did you mean ${closest}?`}`;
    });
}
