import { countOf, escapeXml, verdictOf } from './report.ts';
import type { ConformanceReport } from './report.ts';

const LABEL = 'footbridge conformance';
/** The average width of a character at 11 px, and the padding around a text. */
const CHARACTER = 6.4;
const PADDING = 12;

/** Returns a badge for a README: the number of checks that passed, green if none failed. */
export function renderBadge(report: ConformanceReport): string {
  const value = verdictOf(report);
  const colour = countOf(report, 'fail') === 0 ? '#1a6b34' : '#b3261e';
  const [left, right] = [LABEL, value].map((text) => Math.round(text.length * CHARACTER + PADDING)) as [
    number,
    number,
  ];
  const title = escapeXml(`${LABEL}: ${value}`);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${left + right}" height="20" role="img" aria-label="${title}">
<title>${title}</title>
<rect width="${left}" height="20" rx="3" fill="#424a53"/>
<rect x="${left - 3}" width="${right + 3}" height="20" rx="3" fill="${colour}"/>
<rect x="${left - 3}" width="3" height="20" fill="#424a53"/>
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">
<text x="${left / 2}" y="14">${LABEL}</text>
<text x="${left + right / 2}" y="14">${escapeXml(value)}</text>
</g>
</svg>
`;
}
