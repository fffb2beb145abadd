import { Icon } from '@footbridge/ui/icons';
import { useSignal } from '@preact/signals';
import { cloneElement, toChildArray } from 'preact';
import type { ComponentChildren } from 'preact';

import { session } from './session.ts';
import type { Action } from './use-action.ts';

const COPIED_MS = 1500;

export const isReadOnly = (): boolean => session.value?.readOnly === true;

function CopyButton({ text, label }: { readonly text: string; readonly label: string }) {
  const isCopied = useSignal(false);
  async function copy(): Promise<void> {
    await navigator.clipboard.writeText(text);
    isCopied.value = true;
    setTimeout(() => (isCopied.value = false), COPIED_MS);
  }
  return (
    <button
      type="button"
      class="text-button"
      aria-label={`${isCopied.value ? 'Copied' : 'Copy'}: ${label}`}
      onClick={() => void copy()}
    >
      <Icon name={isCopied.value ? 'check' : 'copy'} />
      {isCopied.value ? 'Copied' : 'Copy'}
    </button>
  );
}

/** A value to paste elsewhere. */
export function CopyField({
  label,
  value,
  hint,
}: {
  readonly label: string;
  readonly value: string;
  readonly hint?: string;
}) {
  return (
    <div class="copy-field">
      <p class="field-name">{label}</p>
      <div class="copy-value">
        <code>{value}</code>
        <CopyButton text={value} label={label} />
      </div>
      {hint !== undefined && <p class="hint">{hint}</p>}
    </div>
  );
}

export function Problem({ text }: { readonly text: string | undefined }) {
  return text === undefined ? null : (
    <p class="problem" role="alert">
      {text}
    </p>
  );
}

interface ChangeButtonProps {
  readonly name: string;
  readonly action: Action;
  readonly change: () => Promise<unknown>;
  /** The effect of the change. When it is set, the button asks for confirmation. */
  readonly warning?: string;
}

/** A button that changes something. A disruptive change needs a second click. */
export function ChangeButton({ name, action, change, warning }: ChangeButtonProps) {
  const isAsking = useSignal(false);
  const isDisabled = isReadOnly() || action.isRunning.value;
  const act = () => {
    isAsking.value = false;
    void action.run(change);
  };
  if (!isAsking.value)
    return (
      <button
        type="button"
        class="text-button"
        disabled={isDisabled}
        onClick={warning === undefined ? act : () => (isAsking.value = true)}
      >
        {name}
      </button>
    );
  return (
    <span class="confirm" role="group" aria-label={name}>
      <span>{warning}</span>
      <button type="button" class="danger-button" disabled={isDisabled} onClick={act}>
        {name}
      </button>
      <button type="button" class="text-button" onClick={() => (isAsking.value = false)}>
        Keep it
      </button>
    </span>
  );
}

/** Returns the trimmed values of a form by field name. */
export function fieldsOf(event: SubmitEvent): Readonly<Record<string, string>> {
  event.preventDefault();
  const data = new FormData(event.currentTarget as HTMLFormElement);
  return Object.fromEntries(
    [...data].map(([name, value]) => [name, typeof value === 'string' ? value.trim() : '']),
  );
}

/** The head of a table with these columns. */
export function TableHead({ names }: { readonly names: readonly string[] }) {
  return (
    <thead>
      <tr>
        {names.map((name) => (
          <th key={name} scope="col">
            {name}
          </th>
        ))}
      </tr>
    </thead>
  );
}

interface TableRowProps {
  readonly names: readonly string[];
  /** The position in a table that does not draw all of its rows. */
  readonly rowIndex?: number;
  readonly children: ComponentChildren;
}

/** A row of a table with these columns. On small screens its cells show the names of their columns. */
export function TableRow({ names, rowIndex, children }: TableRowProps) {
  return (
    <tr aria-rowindex={rowIndex}>
      {toChildArray(children).map((cell, index) =>
        typeof cell === 'object' ? cloneElement(cell, { 'data-label': names[index] }) : cell,
      )}
    </tr>
  );
}
