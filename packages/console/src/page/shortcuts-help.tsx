import { useRef } from 'preact/hooks';

import { hasShortcuts, toggleShortcuts } from './shortcuts.ts';
import { SHORTCUTS, SHORTCUT_TEXTS } from './texts.ts';

/** A button that lists the keys, with a switch that turns them off. */
export function ShortcutsHelp() {
  const dialog = useRef<HTMLDialogElement>(null);
  return (
    <>
      <button
        type="button"
        class="quiet-button"
        aria-label={SHORTCUT_TEXTS.title}
        aria-keyshortcuts="?"
        onClick={() => dialog.current?.showModal()}
      >
        <span aria-hidden="true">?</span>
      </button>
      <dialog ref={dialog} class="card shortcuts" aria-labelledby="shortcuts-title">
        <h2 id="shortcuts-title">{SHORTCUT_TEXTS.title}</h2>
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
        <p class="hint">{SHORTCUT_TEXTS.typing}</p>
        <label class="toggle">
          <input type="checkbox" checked={hasShortcuts.value} onChange={toggleShortcuts} />
          {SHORTCUT_TEXTS.use}
        </label>
        <button type="button" class="main-button" onClick={() => dialog.current?.close()}>
          {SHORTCUT_TEXTS.close}
        </button>
      </dialog>
    </>
  );
}
