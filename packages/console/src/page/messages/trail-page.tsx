import { codeEntry } from '@footbridge/protocol/codes';
import { messageOutcome } from '@footbridge/protocol/message-outcome';
import { redeliverMessage, showMessage } from '@footbridge/protocol/operator/messages';
import { STEP_WORDS, stepFacts } from '@footbridge/protocol/step-words';
import { Icon } from '@footbridge/ui/icons';
import { useSignal } from '@preact/signals';

import { follow, hrefOf } from '../route.ts';
import { call, session } from '../session.ts';
import { timeText } from '../times.ts';
import { useData } from '../use-data.ts';
import { asCurl } from './as-curl.ts';
import { CapturedText } from './captured-text.tsx';
import { StatusChip } from './status-chip.tsx';
import type { History, Request, Step } from './types.ts';

const requestText = (number: number, of: number) => `Request ${number} of ${of}`;

/** What became of one message, and every request that carried it. */
export function TrailPage({ id }: { readonly id: string }) {
  const { value, problem, reload } = useData(showMessage, { id, all: 'true' }, { refresh: true });
  const result = useSignal<string | undefined>(undefined);
  const history = value.value;

  async function redeliver(): Promise<void> {
    try {
      await call(redeliverMessage, { id });
      result.value =
        history?.direction === 'outbound'
          ? 'It is no longer set aside: send it again in the CRM.'
          : 'The Mac was asked to send it again.';
    } catch (error) {
      result.value = error instanceof Error ? error.message : String(error);
    }
  }

  return (
    <>
      <p>
        <a href={hrefOf('/messages')} onClick={follow}>
          Back to the messages
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
            {history.direction === 'outbound' ? 'To the customer' : 'From the customer'}{' '}
            <bdi>{history.phone}</bdi>, <bdi>{history.locationId}</bdi>, {history.kind}.
          </p>
          <Advice history={history} />
          {history.requests.map((request, index) => (
            <RequestTrail
              key={request.id}
              request={request}
              title={
                history.requests.length === 1
                  ? 'What happened'
                  : requestText(index + 1, history.requests.length)
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
                <Icon name="replay" /> Redeliver
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
        <Icon name={isCopied.value ? 'check' : 'copy'} /> Copy as curl
      </button>
      <span class="hint" role="status">
        {isCopied.value &&
          (message.direction === 'outbound'
            ? 'Copied: the webhook of this message. Replace CONTACT_ID, PHONE and TEXT; with the same messageId the Mac sends it at most once.'
            : 'Copied: the call to the CRM. Replace CONTACT_ID, TEXT and IDEMPOTENCY_KEY.')}
      </span>
    </>
  );
}
