import type { ResponseOf } from '@footbridge/protocol/operator/call';
import { diagnoseSignature } from '@footbridge/protocol/operator/crm';
import { useSignal } from '@preact/signals';

import { fieldsOf, isReadOnly, Problem } from '../controls.tsx';
import { call } from '../session.ts';
import { KEYS_TEXTS, STEP_NAMES } from '../texts.ts';
import { useAction } from '../use-action.ts';

type Diagnosis = ResponseOf<typeof diagnoseSignature>;

/** Names the step at which the service rejects a signed sample. A file keeps the exact bytes; a text field changes line breaks. */
export function SampleForm() {
  const action = useAction();
  const diagnosis = useSignal<Diagnosis | undefined>(undefined);

  async function submit(event: SubmitEvent): Promise<void> {
    const form = event.currentTarget as HTMLFormElement;
    const { signature = '' } = fieldsOf(event);
    const data = new FormData(form);
    const [file, text] = [data.get('file'), data.get('body')];
    const bytes =
      file instanceof File && file.size > 0
        ? new Uint8Array(await file.arrayBuffer())
        : new TextEncoder().encode(typeof text === 'string' ? text.replaceAll('\r\n', '\n') : '');
    await action.run(async () => {
      diagnosis.value = await call(diagnoseSignature, { body: base64(bytes), signature });
    });
  }

  return (
    <form class="card form" onSubmit={(event) => void submit(event)}>
      <h2>{KEYS_TEXTS.sample}</h2>
      <p class="hint">{KEYS_TEXTS.sampleIntro}</p>
      <label>
        {KEYS_TEXTS.body}
        <textarea name="body" rows={4} spellcheck={false} />
      </label>
      <label>
        {KEYS_TEXTS.file}
        <input type="file" name="file" />
      </label>
      <label>
        {KEYS_TEXTS.signature}
        <input name="signature" autocomplete="off" spellcheck={false} />
      </label>
      <Problem text={action.problem.value} />
      <div role="status">{diagnosis.value !== undefined && <Result diagnosis={diagnosis.value} />}</div>
      <button type="submit" class="main-button" disabled={isReadOnly()}>
        {KEYS_TEXTS.test}
      </button>
    </form>
  );
}

function Result({
  diagnosis: { ok, step, reason, hint, key, bodyBytes, bodySha256 },
}: {
  diagnosis: Diagnosis;
}) {
  return (
    <div class={ok ? 'result result-good' : 'result result-bad'}>
      <p>
        <strong>{ok ? KEYS_TEXTS.valid : KEYS_TEXTS.invalid(STEP_NAMES[step] ?? step)}</strong>
      </p>
      {!ok && <p>{reason}.</p>}
      {hint !== undefined && <p>{hint}.</p>}
      <p class="hint">
        {key !== undefined && <bdi>{key}, </bdi>}
        {bodyBytes} bytes, SHA-256 <code>{bodySha256.slice(0, 16)}…</code>
      </p>
    </div>
  );
}

const base64 = (bytes: Uint8Array): string =>
  btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
