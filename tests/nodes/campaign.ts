// Messages both ways while nodes, servers, the CRM and Macs fail: node scripts/run.mjs tests/nodes/campaign.ts --messages 40000 --faults 2000 --kills 200 [--seed 1] [--nodes 4] [--round-size 1000] [--resume] [--help]
import { join } from 'node:path';

import { HELP, OptionsError, parseCommandLine } from './campaign/options.ts';
import type { CommandLine } from './campaign/options.ts';
import { Progress } from './campaign/progress.ts';
import { renderHtml } from './campaign/report-html.ts';
import { countBy, hasFailed, totalsOf } from './campaign/report.ts';
import type { CampaignReport } from './campaign/report.ts';
import { failedRoundOf, runCampaign } from './campaign/run-campaign.ts';
import { InterruptedError, runRound } from './campaign/round.ts';
import { shrinkRound } from './campaign/shrink-round.ts';
import { readReport, readState, writeFile } from './campaign/state-file.ts';

const print = (line: string) => void process.stdout.write(`${line}\n`);

async function run({ options, out, resume }: Extract<CommandLine, { command: 'run' }>): Promise<number> {
  const state = join(out, 'state.json');
  const progress = new Progress(process.stderr);
  const timer = setInterval(() => progress.refresh(), 500);
  const report = await runCampaign(
    options,
    {
      logsDir: join(out, 'logs'),
      signal: interruption(),
      onProgress: (progressState) => progress.show(progressState),
      onRound: (soFar) => writeFile(state, JSON.stringify(soFar)),
    },
    resume ? readState(state, options) : undefined,
  );
  clearInterval(timer);
  progress.end();
  writeReports(report, out);
  printSummary(report, out);
  return report.rounds.some(hasFailed) ? 1 : 0;
}

/** The first SIGINT or SIGTERM ends the round under way, with its servers and nodes; the second one ends the program. */
function interruption(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => controller.abort());
  return controller.signal;
}

async function shrinkReport({
  report,
  budget,
  out,
}: Extract<CommandLine, { command: 'shrink' }>): Promise<number> {
  const given = readReport(report);
  const failed = failedRoundOf(given);
  if (failed === undefined) {
    print(`No round of ${report} failed: there is nothing to shrink.`);
    return 0;
  }
  const smallest = await shrinkRound(failed, {
    budget,
    run: runRound,
    onTrial: ({ schedule, messages }, hasViolation) =>
      print(`${schedule.length} faults, ${messages} messages: ${hasViolation ? 'fails' : 'passes'}`),
  });
  if (smallest === undefined) {
    print('The round did not fail this time: its faults came at other moments. Try again.');
    return 0;
  }
  const shrunk = { ...given, rounds: [smallest] };
  writeReports(shrunk, join(out, 'shrunk'));
  printSummary(shrunk, join(out, 'shrunk'));
  for (const { index, kind, target } of smallest.schedule) print(`fault ${index}: ${kind}, target ${target}`);
  return 1;
}

function writeReports(report: CampaignReport, out: string): void {
  writeFile(join(out, 'report.json'), JSON.stringify(report, null, 1));
  writeFile(join(out, 'report.html'), renderHtml(report));
}

function printSummary(report: CampaignReport, out: string): void {
  const { rounds } = report;
  const sum = (
    name:
      | 'inbound'
      | 'outbound'
      | 'atOnce'
      | 'displaced'
      | 'toldAgain'
      | 'unknownOutcomes'
      | 'forgotten'
      | 'seconds',
  ) => `${name}=${rounds.reduce((total, round) => total + round[name], 0)}`;
  const figures = Object.entries(totalsOf(rounds)).map(([name, value]) => `${name}=${value}`);
  print([`rounds=${rounds.length}`, sum('inbound'), sum('outbound'), ...figures].join(' '));
  print(
    [
      sum('atOnce'),
      sum('displaced'),
      sum('toldAgain'),
      sum('unknownOutcomes'),
      sum('forgotten'),
      sum('seconds'),
    ].join(' '),
  );
  const kinds = countBy(rounds.flatMap(({ schedule }) => schedule.map(({ kind }) => kind)));
  print(`faults: ${[...kinds].map(([kind, count]) => `${count} × ${kind}`).join(', ')}`);
  for (const { round, evidence, bugs } of rounds)
    for (const line of [...evidence, ...bugs]) print(`round ${round + 1}: ${line}`);
  print(`reports: ${join(out, 'report.json')}, ${join(out, 'report.html')}`);
}

try {
  const commandLine = parseCommandLine(process.argv.slice(2));
  if (commandLine.command === 'help') process.stdout.write(HELP);
  else process.exit(await (commandLine.command === 'run' ? run(commandLine) : shrinkReport(commandLine)));
} catch (error) {
  if (error instanceof InterruptedError) {
    process.stderr.write('Interrupted. The finished rounds are kept: continue with --resume.\n');
    process.exit(130);
  }
  if (!(error instanceof OptionsError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exit(2);
}
