import { codeEntry } from '@footbridge/protocol/codes';
import type { ResponseOf } from '@footbridge/protocol/operator/call';
import { showOverview } from '@footbridge/protocol/operator/watching';
import { useSignal } from '@preact/signals';

import { follow, hrefOf } from '../route.ts';
import { HOP_NAMES, TEXTS } from '../texts.ts';
import { timeText } from '../times.ts';
import { useData } from '../use-data.ts';
import { Sparkline } from './sparkline.tsx';

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
        <h1>{TEXTS.overview}</h1>
        <p class="hint">{TEXTS.lastDay}</p>
      </div>
      <div class="figures">
        <Figure
          title={TEXTS.macsConnected}
          number={`${macs.connected} / ${macs.expected}`}
          note={TEXTS.macsExpected}
          buckets={buckets}
          of={(bucket) => bucket.macs}
        />
        <Figure
          title={TEXTS.messagesOut}
          number={outbound.total.toLocaleString('en-US')}
          note={TEXTS.deliveredShare(share(outbound))}
          buckets={buckets}
          of={(bucket) => bucket.outbound.total}
        />
        <Figure
          title={TEXTS.messagesIn}
          number={inbound.total.toLocaleString('en-US')}
          note={TEXTS.acceptedShare(share(inbound))}
          buckets={buckets}
          of={(bucket) => bucket.inbound.total}
        />
        <Figure
          title={TEXTS.issues}
          number={String(overview.openIssues)}
          note={TEXTS.openNow}
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
        aria-label={`${isTable.value ? TEXTS.hideTable : TEXTS.showTable}: ${title}`}
        onClick={() => (isTable.value = !isTable.value)}
      >
        {isTable.value ? TEXTS.hideTable : TEXTS.showTable}
      </button>
      {isTable.value && (
        <div class="figure-table" tabIndex={0} role="region" aria-label={title}>
          <table>
            <thead>
              <tr>
                <th scope="col">{TEXTS.halfHourFrom}</th>
                <th scope="col">{title}</th>
              </tr>
            </thead>
            <tbody>
              {buckets.toReversed().map((bucket) => (
                <tr key={bucket.from}>
                  <td>{timeText(bucket.from)}</td>
                  <td>{of(bucket) ?? TEXTS.notKnown}</td>
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
      <h2>{TEXTS.failuresByCode}</h2>
      {failures.length === 0 ? (
        <p class="hint">{TEXTS.noFailures}</p>
      ) : (
        <table class="plain has-advice">
          <thead>
            <tr>
              <th scope="col">{TEXTS.code}</th>
              <th scope="col">{TEXTS.count}</th>
              <th scope="col">{TEXTS.whatToDo}</th>
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
                      <code>{code ?? TEXTS.noCode}</code>
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
      <h2>{TEXTS.slowestHops}</h2>
      <p class="hint">{TEXTS.slowestHopsHint}</p>
      {hops.length > 0 && (
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">{TEXTS.hop}</th>
              <th scope="col">{TEXTS.p95}</th>
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
