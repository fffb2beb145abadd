import { listMessages } from '@footbridge/protocol/operator/messages';
import { counted } from '@footbridge/runtime/counted';
import { printable } from '@footbridge/runtime/printable';
import type { Command } from 'commander';

import { CliError, EXIT } from '../cli-error.ts';
import { contextOf } from '../command-context.ts';
import type { OperatorClient } from '../operator-client.ts';
import { listKeys } from '../trusted-keys.ts';
import { allIssues } from './issues.ts';
import { listLicenses } from './license.ts';
import { allLocations } from './location.ts';

/** What to do next, for the current state of the service. */
interface NextStep {
  readonly state: string;
  readonly sentence: string;
  readonly next: string;
}

interface Counts {
  readonly keys: number;
  readonly licenses: number;
  readonly locations: readonly { readonly state: string; readonly connected: object | null }[];
  readonly issues: readonly { readonly sentence: string }[];
  readonly hasMessages: boolean;
}

const EXAMPLES = `
  footbridge doctor               check everything between the CRM and the Macs
  footbridge issues               what is wrong, and what to do
  footbridge tail                 messages, live
  footbridge show ID              what became of one message
  footbridge explain CODE         what a code means

All commands: footbridge --help`;

/** `footbridge` without a command. */
export async function nextStep(program: Command): Promise<void> {
  const { output, operator, target } = contextOf(program);
  const step = await stepOf(operator);
  const { url, urlFrom } = target();
  output.result(`${url} (${urlFrom}): ${printable(step.sentence)}\n\nNext: ${step.next}`, {
    service: url,
    ...step,
  });
  output.hint(EXAMPLES);
}

async function stepOf(operator: () => OperatorClient): Promise<NextStep> {
  try {
    return nextStepOf(await countsOf(operator()));
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    if (error.code === 'FORBIDDEN')
      return { state: 'limited', sentence: error.message, next: 'footbridge issues, or footbridge tail' };
    const step = STEPS_AFTER_ERROR[error.exitCode];
    if (step === undefined) throw error;
    return { ...step, sentence: error.message };
  }
}

const STEPS_AFTER_ERROR: Readonly<Record<number, Omit<NextStep, 'sentence'>>> = {
  [EXIT.unreachable]: {
    state: 'not_running',
    next: 'start the service with npm start, try npm run demo, or log in to another one: footbridge login --url URL',
  },
  [EXIT.configuration]: {
    state: 'no_token',
    next: 'run this in the folder of the service, or log in: footbridge login --url URL',
  },
  [EXIT.notAuthorised]: { state: 'token_rejected', next: 'log in again: footbridge login --url URL' },
};

async function countsOf(client: OperatorClient): Promise<Counts> {
  const [keys, licenses, locations, issues, { messages }] = await Promise.all([
    listKeys(client),
    listLicenses(client),
    allLocations(client),
    allIssues(client, 'open'),
    client.ask(listMessages, { limit: 1 }),
  ]);
  return {
    keys: keys.filter(({ enabled }) => enabled).length,
    licenses: licenses.length,
    locations,
    issues,
    hasMessages: messages.length > 0,
  };
}

/** Returns the first thing that is missing for messages to arrive. */
function nextStepOf({ keys, licenses, locations, issues, hasMessages }: Counts): NextStep {
  const bound = locations.filter(({ state }) => state === 'bound');
  const connected = bound.filter((location) => location.connected !== null).length;
  if (keys === 0)
    return {
      state: 'no_keys',
      sentence: 'the service is running, but no CRM key is trusted, so every webhook gets 401.',
      next: 'footbridge keys add --preset highlevel; for another CRM, see footbridge keys add --help',
    };
  if (licenses === 0)
    return {
      state: 'no_licenses',
      sentence: 'the service is running and trusts a CRM key, but has no license, so no Mac can connect.',
      next: 'footbridge license create "Front office" --seats 1',
    };
  if (bound.length === 0)
    return {
      state: 'no_locations',
      sentence: 'no location belongs to a license yet, so no Mac can be paired.',
      next: 'footbridge location assign LOCATION LICENSE, then footbridge device pair LOCATION',
    };
  const macs = `${connected} of ${bound.length} Macs connected`;
  if (connected === 0)
    return {
      state: 'no_macs',
      sentence: `${macs}.`,
      next: 'footbridge device pair LOCATION prints a code for the owner of the Mac; footbridge location list shows the locations',
    };
  const [issue] = issues;
  if (issue !== undefined)
    return {
      state: 'issues',
      sentence: `${macs}, ${counted(issues.length, 'open issue')}: ${issue.sentence}`,
      next: 'footbridge issues',
    };
  if (!hasMessages)
    return {
      state: 'no_messages',
      sentence: `${macs}, no message yet.`,
      next: 'footbridge send --to NUMBER --location LOCATION "Hello" --wait, or send a text from the CRM and watch it with footbridge tail',
    };
  return {
    state: 'working',
    sentence: `${macs}, no open issues.`,
    next: 'footbridge tail shows messages live',
  };
}
