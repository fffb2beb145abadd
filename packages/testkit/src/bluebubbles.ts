import type { BlueBubblesOperations } from './bluebubbles/operations.ts';
import { remote } from './control.ts';
import type { Remote } from './control.ts';
import type { SimulatedMacos } from './macos.ts';
import { Program, started } from './program.ts';

export { DEFAULT_SETTINGS } from './bluebubbles/settings.ts';
export type { BlueBubblesFault, BlueBubblesSettings } from './bluebubbles/settings.ts';

/**
 * Starts a process with the HTTP API of a BlueBubbles server that sends through the Messages of a simulated Mac. Each known
 * defect of the server is a setting or a fault. Nothing in it knows the agent.
 */
export async function startBlueBubbles(macos: SimulatedMacos): Promise<SimulatedBlueBubbles> {
  const server = new SimulatedBlueBubbles(macos);
  return started(server, () => server.start());
}

export class SimulatedBlueBubbles extends Program {
  url = '';
  readonly #macos: SimulatedMacos;
  #control: Remote<BlueBubblesOperations> | undefined;

  constructor(macos: SimulatedMacos) {
    super('testkit/src/bluebubbles-main.ts', undefined);
    this.#macos = macos;
  }

  get control(): Remote<BlueBubblesOperations> {
    if (this.#control === undefined) throw new Error('BlueBubbles was not started.');
    return this.#control;
  }

  /** After `halt` or `kill9`. Keeps the port. */
  async start(): Promise<void> {
    const port = this.url === '' ? '0' : new URL(this.url).port;
    const { storePath, controlUrl } = this.#macos;
    this.launch(['--store', storePath, '--macos', controlUrl, '--port', port], {});
    const ready = await this.logged('bluebubbles ready');
    this.url = String(ready['url']);
    this.#control = remote<BlueBubblesOperations>(String(ready['controlUrl']));
  }
}
