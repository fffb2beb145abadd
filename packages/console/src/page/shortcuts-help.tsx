import { useRef } from 'preact/hooks';

import { hasShortcuts, toggleShortcuts } from './shortcuts.ts';

/** The keys that `shortcuts.ts` and the pages know, with what they do. */
const SHORTCUTS: readonly (readonly [keys: readonly string[], action: string])[] = [
  [['j', 'k'], 'Next or previous message or tenant'],
  [['Enter'], 'Open it'],
  [['/'], 'Search messages or tenants'],
  [['f'], 'Filter messages'],
  [['p'], 'Pause or resume the list of messages'],
  [['?'], 'Show this list'],
];

/** A button that lists the keys, with a switch that turns them off. */
export function ShortcutsHelp() {
  const dialog = useRef<HTMLDialogElement>(null);
  return (
    <>
      <button
        type="button"
        class="quiet-button"
        aria-label="Keyboard shortcuts"
        aria-keyshortcuts="?"
        onClick={() => dialog.current?.showModal()}
      >
        <span aria-hidden="true">?</span>
      </button>
      <dialog ref={dialog} class="card shortcuts" aria-labelledby="shortcuts-title">
        <h2 id="shortcuts-title">Keyboard shortcuts</h2>
        <dl>
          {SHORTCUTS.map(([keys, action]) => (
            <div key={action}>
              <dt>
                {keys.map((key) => (
                  <kbd key={key}>{key}</kbd>
                ))}
              </dt>
              <dd>{action}</dd>
            </div>
          ))}
        </dl>
        <p class="hint">They do not act while you type in a field.</p>
        <label class="toggle">
          <input type="checkbox" checked={hasShortcuts.value} onChange={toggleShortcuts} />
          Use these keys
        </label>
        <button type="button" class="main-button" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </dialog>
    </>
  );
}
