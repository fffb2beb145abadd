import { countBy, hasFailed, totalsOf } from './report.ts';
import type { CampaignReport, InjectedFault, RoundReport, TimelineBucket } from './report.ts';

const WIDTH = 1000;
const LABEL = 110;
const CHART_HEIGHT = 90;
const LANE_HEIGHT = 16;
/** A fault that lasts an instant is still visible. */
const MIN_BAR = 3;

/** Bottom to top. The names are those of the style sheet. */
const ANSWERS: readonly (readonly [name: keyof TimelineBucket, label: string])[] = [
  ['taken', '200'],
  ['notConnected', '404'],
  ['unavailable', '503'],
  ['failed', 'other answers and failed connections'],
];
const LINES: readonly (readonly [name: keyof TimelineBucket, label: string])[] = [
  ['inbound', 'inbound messages stored by the CRM'],
  ['statuses', 'statuses accepted by the CRM'],
];
const LANES = ['node', 'Redis', 'PostgreSQL', 'CRM', 'Mac', 'agent'] as const;
type Lane = (typeof LANES)[number];

const SCORES: Readonly<Record<string, string>> = {
  lost: 'lost',
  doubled: 'doubled',
  order: 'out of order',
  owners: 'double owners',
  false200: 'false 200',
  false404: 'false 404',
  statuses: 'wrong final status',
  terminals: 'two terminal statuses',
  bugs: 'bugs',
};

/** Returns the report as one page that loads nothing. */
export function renderHtml(report: CampaignReport): string {
  const { options, rounds, startedAt } = report;
  const failed = rounds.filter(hasFailed).length;
  const verdict = failed === 0 ? 'Every score is 0' : `${failed} of ${rounds.length} rounds failed`;
  const totals = Object.entries(totalsOf(rounds));
  const sum = (value: (round: RoundReport) => number) =>
    rounds.reduce((total, round) => total + value(round), 0);
  const facts: readonly (readonly [string, string | number])[] = [
    ['started', startedAt.slice(0, 16).replace('T', ' ')],
    ['seed', options.seed],
    ['messages to the CRM', sum(({ inbound }) => inbound)],
    ['messages to Macs', sum(({ outbound }) => outbound)],
    ['taken at the first attempt', sum(({ atOnce }) => atOnce)],
    ['faults', sum(({ schedule }) => schedule.length)],
    ['rounds', `${rounds.length} of ${Math.ceil(options.messages / options.roundSize)}`],
    ['nodes', options.nodes],
    ['locations, scripted Macs', options.locations],
    ['locations, agent program', options.agents],
    ['changes of owner', sum(({ displaced }) => displaced)],
    ['statuses told again', sum(({ toldAgain }) => toldAgain)],
    ['sends with unknown outcome', sum(({ unknownOutcomes }) => unknownOutcomes)],
    ['forgotten with a killed node', sum(({ forgotten }) => forgotten)],
    ['duration', `${sum(({ seconds }) => seconds)} s`],
  ];
  const kinds = countBy(rounds.flatMap(({ schedule }) => schedule.map(({ kind }) => kind)));
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Campaign, seed ${options.seed}: ${verdict}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>Campaign, seed ${options.seed}</h1>
<p class="${failed === 0 ? 'passed' : 'failed-verdict'}">${verdict}.</p>
<table class="scores"><thead><tr>${totals.map(([name]) => `<th>${escape(SCORES[name] ?? name)}</th>`).join('')}</tr></thead>
<tbody><tr>${totals.map(([, count]) => `<td${count > 0 ? ' class="bad"' : ''}>${count}</td>`).join('')}</tr></tbody></table>
<dl>${facts.map(([name, value]) => `<div><dt>${escape(name)}</dt><dd>${escape(String(value))}</dd></div>`).join('')}</dl>
<p class="legend">Answers to webhooks: ${ANSWERS.map(([name, label]) => `<span><i class="${name}"></i>${label}</span>`).join(' ')}
Lines: ${LINES.map(([name, label]) => `<span><i class="${name}"></i>${label}</span>`).join(' ')}</p>
${rounds.map(renderRound).join('\n')}
<h2>Faults by kind</h2>
<table><tbody>${[...kinds].map(([kind, count]) => `<tr><td>${escape(kind)}</td><td>${count}</td></tr>`).join('')}</tbody></table>
</body>
</html>
`;
}

function renderRound(round: RoundReport, index: number): string {
  const problems = [...round.evidence, ...round.bugs];
  const isOpen = problems.length > 0 || index === 0;
  return `<details${isOpen ? ' open' : ''}>
<summary>Round ${round.round + 1}: ${round.messages} messages each way, ${round.schedule.length} faults, ${round.seconds} s, ${problems.length === 0 ? 'no violation' : `<b class="bad">${problems.length} violations</b>`}</summary>
${renderTimeline(round)}
${problems.length === 0 ? '' : `<ul class="evidence">${problems.map((line) => `<li><code>${escape(line)}</code></li>`).join('')}</ul>`}
<details class="faults"><summary>Faults in order</summary>
<table><thead><tr><th>no.</th><th>fault</th><th>from</th><th>to</th></tr></thead><tbody>
${round.schedule.map(({ index: number, kind, from, to }) => `<tr><td>${number}</td><td>${escape(kind)}</td><td>${seconds(from)}</td><td>${seconds(to)}</td></tr>`).join('\n')}
</tbody></table></details>
</details>`;
}

function renderTimeline({ schedule, timeline, bucketMs, round }: RoundReport): string {
  const end = Math.max(timeline.length * bucketMs, ...schedule.map(({ to }) => to), bucketMs);
  const x = (ms: number) => LABEL + (ms / end) * (WIDTH - LABEL);
  const most = Math.max(
    1,
    ...timeline.map((bucket) => Math.max(answersIn(bucket), bucket.inbound, bucket.statuses)),
  );
  const y = (count: number) => (count / most) * CHART_HEIGHT;
  const bars = timeline.flatMap((bucket, index) => {
    let below = 0;
    return ANSWERS.map(([name, label]) => {
      const count = bucket[name];
      if (count === 0) return '';
      const top = CHART_HEIGHT - y(below + count);
      below += count;
      return `<rect class="${name}" x="${fixed(x(index * bucketMs))}" y="${fixed(top)}" width="${fixed(x(bucketMs) - x(0))}" height="${fixed(y(count))}"><title>${label}: ${count} at ${seconds(index * bucketMs)}</title></rect>`;
    });
  });
  const lines = LINES.map(([name]) => {
    const points = timeline.map(
      (bucket, index) => `${fixed(x((index + 0.5) * bucketMs))},${fixed(CHART_HEIGHT - y(bucket[name]))}`,
    );
    return `<polyline class="${name}" points="${points.join(' ')}"/>`;
  });
  const lanes = LANES.map((lane, index) => {
    const top = CHART_HEIGHT + 20 + index * LANE_HEIGHT;
    const faults = schedule.filter(({ kind }) => laneOf(kind) === lane);
    return `<text x="0" y="${top + 11}">${lane}</text><line x1="${LABEL}" x2="${WIDTH}" y1="${top + 7}" y2="${top + 7}"/>${faults.map((fault) => renderFault(fault, x, top)).join('')}`;
  });
  const height = CHART_HEIGHT + 20 + LANES.length * LANE_HEIGHT;
  const ticks = Array.from({ length: 6 }, (_, index) => (index * end) / 5);
  return `<svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="Timeline of round ${round + 1}: answers, messages and faults">
<text x="0" y="10">${most} a second</text>${bars.join('')}${lines.join('')}
${ticks.map((ms) => `<text class="tick" x="${fixed(x(ms))}" y="${CHART_HEIGHT + 13}">${seconds(ms)}</text>`).join('')}
${lanes.join('\n')}
</svg>`;
}

function renderFault(
  { kind, from, to, index }: InjectedFault,
  x: (ms: number) => number,
  top: number,
): string {
  const width = Math.max(MIN_BAR, x(to) - x(from));
  return `<rect class="fault" x="${fixed(x(from))}" y="${top + 2}" width="${fixed(width)}" height="10" rx="2"><title>${index}: ${escape(kind)}, ${seconds(from)} to ${seconds(to)}</title></rect>`;
}

function laneOf(kind: string): Lane {
  if (/response|token|^CRM/.test(kind)) return 'CRM';
  if (/Redis/.test(kind)) return 'Redis';
  if (/PostgreSQL/.test(kind)) return 'PostgreSQL';
  return LANES.find((lane) => kind.startsWith(lane)) ?? 'node';
}

const answersIn = (bucket: TimelineBucket) => ANSWERS.reduce((sum, [name]) => sum + bucket[name], 0);
const fixed = (value: number) => value.toFixed(1);
const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
const escape = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

const STYLE = `
:root { color-scheme: light dark; --ink: #1b1f24; --dim: #5a6470; --rule: #d6dbe1; --page: #fff; --bad: #b3261e; --good: #1a6b34;
  --taken: #7fb3e6; --not-connected: #e8b04a; --unavailable: #c77fd0; --failed: #d9655b; --inbound: #14733c; --statuses: #30508f; --fault: #8a5a2b; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ed; --dim: #9aa5b1; --rule: #3a424b; --page: #14181c; --bad: #ff8a80; --good: #7ddb9a;
  --taken: #3d78b5; --not-connected: #b98a2c; --unavailable: #9a54a4; --failed: #c9574d; --inbound: #63d08c; --statuses: #9dbcff; --fault: #d9a066; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page); max-width: 1100px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: 0; }
h2 { font-size: 1.1rem; margin-top: 2rem; }
.passed { color: var(--good); font-weight: 600; }
.failed-verdict, .bad { color: var(--bad); font-weight: 600; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .2rem .9rem .2rem 0; border-bottom: 1px solid var(--rule); font-weight: 400; }
th { color: var(--dim); }
.scores td { font-size: 1.3rem; font-weight: 600; }
.scores { display: block; overflow-x: auto; }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); gap: .2rem 1.5rem; }
dl div { display: flex; justify-content: space-between; gap: 1rem; border-bottom: 1px solid var(--rule); }
dt { color: var(--dim); }
dd { margin: 0; text-align: right; }
details { margin: 1rem 0; }
summary { cursor: pointer; }
svg { width: 100%; height: auto; margin-top: .5rem; }
svg text { font-size: 11px; fill: var(--dim); }
svg .tick { text-anchor: end; }
svg line { stroke: var(--rule); }
svg polyline { fill: none; stroke-width: 1.5; }
.legend { color: var(--dim); }
.legend span { white-space: nowrap; margin-right: .8rem; }
.legend i { display: inline-block; width: .8em; height: .8em; margin-right: .35em; border-radius: 2px; }
rect.taken { fill: var(--taken); } i.taken { background: var(--taken); }
rect.notConnected { fill: var(--not-connected); } i.notConnected { background: var(--not-connected); }
rect.unavailable { fill: var(--unavailable); } i.unavailable { background: var(--unavailable); }
rect.failed { fill: var(--failed); } i.failed { background: var(--failed); }
polyline.inbound { stroke: var(--inbound); } i.inbound { background: var(--inbound); }
polyline.statuses { stroke: var(--statuses); } i.statuses { background: var(--statuses); }
rect.fault { fill: var(--fault); fill-opacity: .7; }
.evidence code { overflow-wrap: anywhere; }
`;
