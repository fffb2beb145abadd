import { expect, it } from 'vitest';

import { capabilitiesSince } from './feature-versions.ts';

it.each([
  ['14.8', []],
  ['15.6', ['sticker-reactions', 'stickers']],
  ['26.1', ['sticker-reactions', 'stickers', 'emoji-reactions']],
])('M5 macOS %s adds the capabilities %j', (macos, added) => {
  const base = ['text', 'groups', 'attachments', 'voice', 'animations', 'replies', 'reactions'];
  expect(capabilitiesSince(macos)).toEqual([...base, ...added]);
});
