import type { ResponseOf } from '@footbridge/protocol/operator/call';
import { diagnoseSignature } from '@footbridge/protocol/operator/crm';
import { useSignal } from '@preact/signals';

import { fieldsOf, isReadOnly, Problem } from '../controls.tsx';
import { call } from '../session.ts';
import { useAction } from '../use-action.ts';

/** The steps of the signature check. */
export const STEP_NAMES: Readonly<Record<string, string>> = {
  header: 'no signature',
  base64: 'not base64',
  length: 'wrong length',
  location: 'other location',
  key: 'no key matches',
  body: 'body changed',
  enabled: 'key disabled',
  verified: 'valid',
};

const invalidText = (step: string) => `Rejected at the step “${step}”`;

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
      <h2>Test a signed sample</h2>
      <p class="hint">Paste the raw body of a request and its signature. The sample is not stored.</p>
      <label>
        Body
        <textarea name="body" rows={4} spellcheck={false} />
      </label>
      <label>
        or a file with the body
        <input type="file" name="file" />
      </label>
      <label>
        Signature header
        <input name="signature" autocomplete="off" spellcheck={false} />
      </label>
      <Problem text={action.problem.value} />
      <div role="status">{diagnosis.value !== undefined && <Result diagnosis={diagnosis.value} />}</div>
      <button type="submit" class="main-button" disabled={isReadOnly()}>
        Test
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
        <strong>{ok ? 'The signature is valid.' : invalidText(STEP_NAMES[step] ?? step)}</strong>
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
