import { lstatSync, realpathSync } from 'node:fs';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';

import { errorCode } from '@footbridge/runtime/error-code';
/** Where Messages keeps its files. */
export interface MessagesFolders {
  /** The folder that `~` means in a stored path. */
  readonly home: string;
  /** The folder that holds `chat.db` and every attachment. */
  readonly messages: string;
}

/**
 * - `ready`: a regular file with content.
 * - `waiting`: absent so far, or still empty.
 * - `refused`: not a file of Messages. It is never read.
 */
export type FileState = 'ready' | 'waiting' | 'refused';

/** Resolves a stored path: `~/Library/…`, absolute, or relative to the folder of Messages. */
export function resolveAttachmentPath(stored: string, { home, messages }: MessagesFolders): string {
  if (stored === '~' || stored.startsWith('~/')) return join(home, stored.slice(1));
  return isAbsolute(stored) ? resolve(stored) : resolve(messages, stored);
}

/**
 * Checks that a path is a file inside the folder of Messages, because a row of the store must not make the agent upload any other file of
 * this Mac. A link must not lead out of the folder. Devices and sockets are not read.
 */
export function attachmentFileState(path: string, { messages }: MessagesFolders): FileState {
  if (path.includes('\0') || !isInside(path, messages)) return 'refused';
  try {
    const real = realpathSync(path);
    const file = lstatSync(real);
    if (!isInside(real, realpathSync(messages)) || !file.isFile()) return 'refused';
    return file.size > 0 ? 'ready' : 'waiting';
  } catch (error) {
    const code = errorCode(error);
    return code === 'ENOENT' || code === 'EACCES' || code === 'EPERM' ? 'waiting' : 'refused';
  }
}

function isInside(path: string, folder: string): boolean {
  const from = relative(folder, path);
  return from !== '' && from !== '..' && !from.startsWith(`..${sep}`) && !isAbsolute(from);
}
