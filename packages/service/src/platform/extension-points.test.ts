import { silentLog } from '@footbridge/testkit/silent-log';
import { expect, it } from 'vitest';

import { Occurrence } from './extension-points.ts';

it('an occurrence reaches the other listeners, and its room goes on, when a listener fails', () => {
  const heard: string[] = [];
  const sent = new Occurrence<[string]>('sent', silentLog);
  sent.listen(() => {
    throw new Error('broken');
  });
  sent.listen((what) => heard.push(what));
  sent.happened('one');
  expect(heard).toEqual(['one']);
});
