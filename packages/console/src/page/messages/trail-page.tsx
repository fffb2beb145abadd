import { codeEntry } from '@footbridge/protocol/codes';
import { messageOutcome } from '@footbridge/protocol/message-outcome';
import { redeliverMessage, showMessage } from '@footbridge/protocol/operator/messages';
import { STEP_WORDS, stepFacts } from '@footbridge/protocol/step-words';
import { Icon } from '@footbridge/ui/icons';
import { useSignal } from '@preact/signals';

import { follow, hrefOf } from '../route.ts';
import { call, session } from '../session.ts';
import { TEXTS } from '../texts.ts';
import { timeText } from '../times.ts';
import { useData } from '../use-data.ts';
import { asCurl } from './as-curl.ts';
import { CapturedText } from './captured-text.tsx';
import { StatusChip } from './status-chip.tsx';
import type { History, Request, Step } from './types.ts';

/** What became of one message, and every request that carried it. */
export function TrailPage({ id }: { readonly id: string }) {
  const { value, problem, reload } = useData(showMessage, { id, all: 'true' }, { refresh: true });
  const result = useSignal<string | undefined>(undefined);
  const history = value.value;

  async function redeliver(): Promise<void> {
    try {
      await call(redeliverMessage, { id });
      result.value = history?.direction === 'outbound' ? TEXTS.released : TEXTS.redelivered;
    } catch (error) {
      result.value = error instanceof Error ? error.message : String(error);
    }
  }

  return (
    <>
      <p>
        <a href={hrefOf('/messages')} onClick={follow}>
          {TEXTS.back}
        </a>
      </p>
      {history === undefined ? (
        <p class="hint" role="status">
          {problem.value}
        </p>
      ) : (
        <article class="card trail">
          <h1>{messageOutcome(history.requests).sentence}</h1>
          <p class="hint">
            {history.direction === 'outbound' ? TEXTS.outbound : TEXTS.inbound} <bdi>{history.phone}</bdi>,{' '}
            <bdi>{history.locationId}</bdi>, {history.kind}.
          </p>
          <Advice history={history} />
          {history.requests.map((request, index) => (
            <RequestTrail
              key={request.id}
              request={request}
              title={
                history.requests.length === 1
                  ? TEXTS.trail
                  : TEXTS.request(index + 1, history.requests.length)
              }
            />
          ))}
          <p class="actions">
            <CopyCurl message={history} />
            {(history.status === 'undeliverable' || history.code === 'SET_ASIDE') && (
              <button
                type="button"
                class="text-button"
                disabled={session.value?.readOnly === true}
                onClick={() => void redeliver()}
              >
                <Icon name="replay" /> {TEXTS.redeliver}
              </button>
            )}
            <span role="status">{result.value}</span>
          </p>
          <CapturedText history={history} reload={reload} />
        </article>
      )}
    </>
  );
}

/** What the codes of the requests mean, and what to do. */
function Advice({ history }: { readonly history: History }) {
  const codes = new Set(history.requests.flatMap(({ code }) => code ?? []));
  return (
    <>
      {[...codes].map((code) => {
        const entry =
          codeEntry(code, history.direction === 'inbound' ? 'inbound' : 'status') ?? codeEntry(code);
        return entry === undefined ? null : (
          <p key={code} class="advice">
            <code>{code}</code> {entry.meaning} {entry.advice}
          </p>
        );
      })}
    </>
  );
}

function RequestTrail({ request, title }: { readonly request: Request; readonly title: string }) {
  return (
    <section>
      <h2>
        {title} <StatusChip status={request.status} code={request.code} />
      </h2>
      <p class="hint">
        <code>{request.id}</code>
      </p>
      <table class="steps">
        <tbody>
          {request.steps.map((step, index) => (
            <tr key={index}>
              <td>{timeText(step.at, { ms: true })}</td>
              <th scope="row">{STEP_WORDS[step.step] ?? step.step}</th>
              <td>
                <bdi>{stepFacts(step.detail).join(', ')}</bdi>
              </td>
              <td>{elapsed(request.steps[index - 1], step)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

const elapsed = (before: Step | undefined, { at }: Step): string =>
  before === undefined ? '' : `+${Date.parse(at) - Date.parse(before.at)} ms`;

/** Copies the call that carried the message. */
function CopyCurl({ message }: { readonly message: History }) {
  const isCopied = useSignal(false);
  async function copy(): Promise<void> {
    await navigator.clipboard.writeText(asCurl(message));
    isCopied.value = true;
  }
  return (
    <>
      <button type="button" class="text-button" onClick={() => void copy()}>
        <Icon name={isCopied.value ? 'check' : 'copy'} /> {TEXTS.copyCurl}
      </button>
      <span class="hint" role="status">
        {isCopied.value && (message.direction === 'outbound' ? TEXTS.copiedWebhook : TEXTS.copiedInbound)}
      </span>
    </>
  );
}
