import { codeEntry } from '@footbridge/protocol/codes';
import type { ResponseOf } from '@footbridge/protocol/operator/call';
import { showOverview } from '@footbridge/protocol/operator/watching';
import { useSignal } from '@preact/signals';

import { follow, hrefOf } from '../route.ts';
import { timeText } from '../times.ts';
import { useData } from '../use-data.ts';
import { Sparkline } from './sparkline.tsx';

/** The hops of a message. */
const HOP_NAMES: Readonly<Record<string, string>> = {
  accept: 'Webhook to the socket of the Mac',
  pending: 'CRM accepts “pending”',
  mac: 'Mac sends the message',
  outcome: 'CRM accepts the outcome',
  inbound: 'CRM accepts an inbound message',
};

const deliveredShareText = (part: string) => `${part} delivered`;
const acceptedShareText = (part: string) => `${part} accepted by the CRM`;

type Overview = ResponseOf<typeof showOverview>;
type Bucket = Overview['buckets'][number];
type Direction = Bucket['outbound'];

/** The last 24 hours: four numbers, failures by code, the slowest hops. */
export function OverviewPage() {
  const { value, problem } = useData(showOverview, {}, { refresh: true });
  const overview = value.value;
  if (overview === undefined) return <p class="hint">{problem.value}</p>;
  const { macs, buckets, failures, hops } = overview;
  const outbound = total(buckets.map((bucket) => bucket.outbound));
  const inbound = total(buckets.map((bucket) => bucket.inbound));
  return (
    <>
      <div class="page-head">
        <h1>Overview</h1>
        <p class="hint">The last 24 hours.</p>
      </div>
      <div class="figures">
        <Figure
          title="Macs connected"
          number={`${macs.connected} / ${macs.expected}`}
          note="connected / expected"
          buckets={buckets}
          of={(bucket) => bucket.macs}
        />
        <Figure
          title="Messages to customers"
          number={outbound.total.toLocaleString('en-US')}
          note={deliveredShareText(share(outbound))}
          buckets={buckets}
          of={(bucket) => bucket.outbound.total}
        />
        <Figure
          title="Messages from customers"
          number={inbound.total.toLocaleString('en-US')}
          note={acceptedShareText(share(inbound))}
          buckets={buckets}
          of={(bucket) => bucket.inbound.total}
        />
        <Figure
          title="Issues"
          number={String(overview.openIssues)}
          note="open now"
          buckets={buckets}
          of={(bucket) => bucket.openIssues}
        />
      </div>
      <div class="tables">
        <Failures failures={failures} />
        <Hops hops={hops} />
      </div>
    </>
  );
}

interface FigureProps {
  readonly title: string;
  readonly number: string;
  readonly note: string;
  readonly buckets: readonly Bucket[];
  readonly of: (bucket: Bucket) => number | null;
}

/** A number with its history, as a line or as a table. */
function Figure({ title, number, note, buckets, of }: FigureProps) {
  const isTable = useSignal(false);
  return (
    <section class="card figure">
      <h2>{title}</h2>
      <p class="figure-number">{number}</p>
      <p class="hint">{note}</p>
      <Sparkline values={buckets.map(of)} />
      <button
        type="button"
        class="text-button"
        aria-expanded={isTable.value}
        aria-label={`${isTable.value ? 'Hide the table' : 'Show as table'}: ${title}`}
        onClick={() => (isTable.value = !isTable.value)}
      >
        {isTable.value ? 'Hide the table' : 'Show as table'}
      </button>
      {isTable.value && (
        <div class="figure-table" tabIndex={0} role="region" aria-label={title}>
          <table>
            <thead>
              <tr>
                <th scope="col">Half hour starting at</th>
                <th scope="col">{title}</th>
              </tr>
            </thead>
            <tbody>
              {buckets.toReversed().map((bucket) => (
                <tr key={bucket.from}>
                  <td>{timeText(bucket.from)}</td>
                  <td>{of(bucket) ?? 'not known'}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function Failures({ failures }: Pick<Overview, 'failures'>) {
  return (
    <section class="card">
      <h2>Failures by code</h2>
      {failures.length === 0 ? (
        <p class="hint">No message failed.</p>
      ) : (
        <table class="plain has-advice">
          <thead>
            <tr>
              <th scope="col">Code</th>
              <th scope="col">Messages</th>
              <th scope="col">What it means, and what to do</th>
            </tr>
          </thead>
          <tbody>
            {failures.map(({ direction, code, count }) => {
              const entry =
                code === null
                  ? undefined
                  : (codeEntry(code, direction === 'inbound' ? 'inbound' : 'status') ?? codeEntry(code));
              return (
                <tr key={`${direction} ${code}`}>
                  <td>
                    <a href={hrefOf('/messages', { direction, code: code ?? undefined })} onClick={follow}>
                      <code>{code ?? 'no code'}</code>
                    </a>
                  </td>
                  <td>{count}</td>
                  <td>
                    {entry?.meaning} {entry?.advice}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
    </section>
  );
}

function Hops({ hops }: Pick<Overview, 'hops'>) {
  return (
    <section class="card">
      <h2>Slowest hops</h2>
      <p class="hint">95 % of the newest 500 messages were at least this fast.</p>
      {hops.length > 0 && (
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">Hop</th>
              <th scope="col">Time</th>
            </tr>
          </thead>
          <tbody>
            {hops.map(({ name, p95Ms }) => (
              <tr key={name}>
                <td>{HOP_NAMES[name] ?? name}</td>
                <td>{durationText(p95Ms)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

const durationText = (ms: number) => (ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`);

const total = (all: readonly Direction[]): Direction => ({
  total: all.reduce((sum, one) => sum + one.total, 0),
  delivered: all.reduce((sum, one) => sum + one.delivered, 0),
  failed: all.reduce((sum, one) => sum + one.failed, 0),
});

/** Of the messages whose outcome is known. */
function share({ delivered, failed }: Direction): string {
  const settled = delivered + failed;
  return settled === 0 ? '–' : `${Math.floor((delivered / settled) * 1000) / 10} %`;
}
