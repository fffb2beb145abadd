import type { CheckResult, State } from './check.ts';
import { countOf, escapeXml, PARTS, sorted, verdictOf } from './report.ts';
import type { ConformanceReport } from './report.ts';

const LABELS: Readonly<Record<State, string>> = {
  pass: '✔ passed',
  warn: '⚠ warning',
  fail: '✖ failed',
  not_tried: '○ not tried',
};

/** Renders the report as a self-contained page. */
export function renderHtml(report: ConformanceReport): string {
  const { crm, locationId, startedAt, version, results } = report;
  const isGood = countOf(report, 'fail') === 0;
  const facts = { CRM: crm, location: locationId, checked: startedAt, footbridge: version };
  const counts = (Object.keys(LABELS) as State[]).map(
    (state) => `<li class="${state}">${LABELS[state]}: ${countOf(report, state)}</li>`,
  );
  const toDo = sorted(results).flatMap(({ id, state, seen, next }) =>
    state === 'fail' || state === 'warn'
      ? [`<li><b class="${state}">${id}</b> ${escapeXml(seen)}<br>${escapeXml(next ?? '')}</li>`]
      : [],
  );
  const parts = Object.entries(PARTS).map(([part, title]) => {
    const own = sorted(results.filter(({ id }) => id.startsWith(part)));
    if (own.length === 0) return '';
    return `<h2>${escapeXml(title)}</h2>\n${own.map(renderCheck).join('\n')}`;
  });
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Footbridge conformance: ${escapeXml(verdictOf(report))}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>Footbridge conformance</h1>
<p class="verdict ${isGood ? 'pass' : 'fail'}">${escapeXml(verdictOf(report))}</p>
<ul class="counts">${counts.join('')}</ul>
<dl>${Object.entries(facts)
    .map(([name, value]) => `<div><dt>${name}</dt><dd>${escapeXml(value)}</dd></div>`)
    .join('')}</dl>
${toDo.length === 0 ? '' : `<h2>What to change</h2>\n<ul>${toDo.join('\n')}</ul>`}
${parts.join('\n')}
</main>
</body>
</html>
`;
}

function renderCheck({ id, title, state, expected, seen, next }: CheckResult): string {
  const rows = { Expected: expected, Seen: seen, ...(next !== undefined && { Next: next }) };
  return `<details${state === 'fail' || state === 'warn' ? ' open' : ''}>
<summary><b class="${state}">${LABELS[state]}</b> <span class="id">${id}</span> ${escapeXml(title)}</summary>
<dl>${Object.entries(rows)
    .map(([name, value]) => `<div><dt>${name}</dt><dd>${escapeXml(value)}</dd></div>`)
    .join('')}</dl>
</details>`;
}

const STYLE = `
:root { color-scheme: light dark; --ink: #1b1f24; --dim: #57606a; --rule: #d0d7de; --page: #fff; --pass: #1a6b34; --warn: #7a5200; --fail: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ed; --dim: #9aa5b1; --rule: #3a424b; --page: #14181c; --pass: #7ddb9a; --warn: #e8b84a; --fail: #ff8a80; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page); margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: 0; }
h2 { font-size: 1.1rem; margin-top: 2rem; }
.verdict { font-size: 1.3rem; font-weight: 600; margin: .2rem 0; }
.pass { color: var(--pass); } .warn { color: var(--warn); } .fail { color: var(--fail); } .not_tried { color: var(--dim); }
.counts { display: flex; flex-wrap: wrap; gap: .3rem 1.5rem; list-style: none; padding: 0; }
dl { margin: .5rem 0; }
dl div { display: grid; grid-template-columns: 6rem 1fr; gap: 1rem; }
dt { color: var(--dim); }
dd { margin: 0; overflow-wrap: anywhere; color: var(--ink); }
details { border-bottom: 1px solid var(--rule); padding: .4rem 0; }
li { overflow-wrap: anywhere; }
summary { cursor: pointer; }
summary b { display: inline-block; min-width: 6.5rem; font-weight: 600; }
.id { color: var(--dim); font-variant-numeric: tabular-nums; }
@media (max-width: 30rem) { dl div { grid-template-columns: 1fr; gap: 0; } }
`;
