import type { Environment } from '@footbridge/runtime/settings';

import { SETTINGS } from './settings.ts';
import type { Setting } from './settings.ts';

const OURS =
  /^(CRM|RATE_LIMIT|ASSET|MAC|INBOUND|FOOTER|MESSAGE_BODY|MESSAGE_MAX|LOCATION|OPERATOR|REPLAY|ALLOW)_/;

/** Returns a warning for each unknown name that looks like a setting: a typo would otherwise be ignored silently. */
export function unknownSettings(env: Environment): string[] {
  const known = Object.values(SETTINGS).flatMap((setting: Setting) =>
    setting.fromFile ? [setting.name, `${setting.name}_FILE`] : [setting.name],
  );
  return Object.keys(env)
    .filter((name) => OURS.test(name) && !known.includes(name))
    .map((name) => {
      const [closest, distance] = known
        .map((candidate) => [candidate, editDistance(name, candidate)] as const)
        .reduce((best, next) => (next[1] < best[1] ? next : best));
      return `${name} is not a setting${distance <= 5 ? `; did you mean ${closest}?` : ''}`;
    });
}

function editDistance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i++) {
    const next = [i];
    for (let j = 1; j <= right.length; j++) {
      const swap = (row[j - 1] ?? 0) + (left[i - 1] === right[j - 1] ? 0 : 1);
      next.push(Math.min(swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
