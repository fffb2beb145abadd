import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { attachmentFileState, resolveAttachmentPath } from './attachment-files.ts';

const home = mkdtempSync(join(tmpdir(), 'footbridge-'));
const messages = join(home, 'Library/Messages');
const folders = { home, messages };
const socket = createServer();
beforeAll(async () => {
  mkdirSync(join(messages, 'Attachments/ab'), { recursive: true });
  writeFileSync(join(home, 'secret.txt'), 'secret');
  mkdirSync(join(home, 'outside'));
  writeFileSync(join(home, 'outside/secret.txt'), 'secret');
  writeFileSync(join(messages, 'Attachments/ab/photo.jpg'), 'photo');
  writeFileSync(join(messages, 'Attachments/ab/..hidden.jpg'), 'photo');
  writeFileSync(join(messages, 'Attachments/ab/empty.jpg'), '');
  symlinkSync(join(home, 'secret.txt'), join(messages, 'Attachments/ab/link.jpg'));
  symlinkSync(join(home, 'outside'), join(messages, 'Attachments/linked'));
  symlinkSync('photo.jpg', join(messages, 'Attachments/ab/inside.jpg'));
  symlinkSync('/dev/zero', join(messages, 'Attachments/ab/device.jpg'));
  await once(socket.listen(join(messages, 'Attachments/ab/socket.jpg')), 'listening');
});
afterAll(() => {
  socket.close();
  rmSync(home, { recursive: true });
});

const stateOf = (stored: string): string =>
  attachmentFileState(resolveAttachmentPath(stored, folders), folders);

describe('the path of an attachment', () => {
  it.each([
    ['with a tilde', '~/Library/Messages/Attachments/ab/photo.jpg'],
    ['that is relative', 'Attachments/ab/photo.jpg'],
    ['that is absolute', join(messages, 'Attachments/ab/photo.jpg')],
  ])('%s is resolved', (_, stored) => {
    expect(resolveAttachmentPath(stored, folders)).toBe(join(messages, 'Attachments/ab/photo.jpg'));
    expect(stateOf(stored)).toBe('ready');
  });

  it.each([
    ['~/secret.txt', 'refused'],
    ['~/Library/Messages/../../secret.txt', 'refused'],
    ['../../secret.txt', 'refused'],
    ['/etc/passwd', 'refused'],
    ['~', 'refused'],
    ['~root/file', 'waiting'],
    ['', 'refused'],
    ['Attachments', 'refused'],
    ['Attachments/ab/link.jpg', 'refused'],
    ['Attachments/linked/secret.txt', 'refused'],
    ['Attachments/ab/device.jpg', 'refused'],
    ['Attachments/ab/socket.jpg', 'refused'],
    ['Attachments/ab/photo.jpg\0.png', 'refused'],
    ['Attachments/ab/photo.jpg/more', 'refused'],
    ['Attachments/ab/inside.jpg', 'ready'],
    ['Attachments/ab/..hidden.jpg', 'ready'],
    ['Attachments/ab/empty.jpg', 'waiting'],
    ['Attachments/ab/not-yet.jpg', 'waiting'],
  ])('%j is %s', (stored, state) => {
    expect(stateOf(stored)).toBe(state);
  });
});
