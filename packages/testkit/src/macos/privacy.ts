import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import type { Screen } from './accessibility/screen.ts';

export interface PrivacySettings {
  readonly fullDisk: boolean;
  /** `undetermined`: the next Apple event makes macOS ask, and waits until this changes. */
  readonly automation: 'granted' | 'denied' | 'undetermined';
  readonly accessibility: boolean;
}

/** Privacy & Security in System Settings: what the owner allows the agent to do. */
export class Privacy {
  readonly #folder: string;
  readonly #hidden: string;
  readonly #screen: Pick<Screen, 'configure'>;
  #automation: PrivacySettings['automation'] = 'granted';
  #waiting: (() => void)[] = [];

  constructor(home: string, screen: Pick<Screen, 'configure'>) {
    this.#screen = screen;
    this.#folder = join(home, 'Library/Messages');
    this.#hidden = join(home, 'Library/Messages (hidden)');
  }

  configure({ fullDisk, automation, accessibility }: Partial<PrivacySettings>): void {
    if (fullDisk !== undefined) this.#showStore(fullDisk);
    if (accessibility !== undefined) this.#screen.configure({ isTrusted: accessibility });
    if (automation === undefined) return;
    this.#automation = automation;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const check of waiting) check();
  }

  /** Resolves when the owner has decided whether the agent may control Messages. */
  async mayControlMessages(): Promise<boolean> {
    while (this.#automation === 'undetermined')
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return this.#automation === 'granted';
  }

  /** Root reads every file, whatever its mode. A folder in the place of the store cannot be opened as a file. */
  #showStore(visible: boolean): void {
    if (visible === !existsSync(this.#hidden)) return;
    if (visible) {
      rmSync(this.#folder, { recursive: true });
      renameSync(this.#hidden, this.#folder);
    } else {
      renameSync(this.#folder, this.#hidden);
      mkdirSync(join(this.#folder, 'chat.db'), { recursive: true });
    }
  }
}
