import type { ResponseOf } from '@footbridge/protocol/operator/call';
import { everyPage } from '@footbridge/protocol/operator/every-page';
import { erasePerson, exportPerson, listRetention, setRetention } from '@footbridge/protocol/operator/people';
import { printable } from '@footbridge/runtime/printable';
import type { Command } from 'commander';

import { EXIT, CliError } from '../cli-error.ts';
import { contextOf } from '../command-context.ts';
import { PHONE_HELP, phoneOf } from '../phone-option.ts';

interface PersonOptions {
  readonly phone: string;
  readonly location?: string;
}

const EXAMPLES = `
Examples:
  footbridge privacy export --phone +15555550100 > person.jsonl
  footbridge privacy erase --phone +15555550100 --location ve9EPM428h8vShlRW1KT
  footbridge privacy retention ve9EPM428h8vShlRW1KT --journal-days 7

All are recorded in the audit log, without the number. The CRM and Messages on the Mac have their own data.`;

/** `footbridge privacy`: the data that the service has about one person, and how long data is kept. */
export function privacyCommand(program: Command): void {
  const privacy = program.command('privacy').addHelpText('after', EXAMPLES);

  ofPerson(privacy.command('export'))
    .description('write the data of a person to standard output, one JSON object per line')
    .action(async (options: PersonOptions, command: Command) => {
      const client = contextOf(command).operator();
      const person = bodyOf(options);
      let cursor: string | null = '';
      while (cursor !== null) {
        const page: ResponseOf<typeof exportPerson> = await client.ask(exportPerson, {
          ...person,
          ...(cursor !== '' && { cursor }),
        });
        const { contacts = [], files = [], optOuts = [], reach = [], messages } = page;
        for (const [type, rows] of Object.entries({
          contact: contacts,
          file: files,
          optOut: optOuts,
          reach,
          message: messages,
        }))
          for (const row of rows) process.stdout.write(`${JSON.stringify({ type, ...row })}\n`);
        ({ cursor } = page);
      }
    });

  ofPerson(privacy.command('erase'))
    .description(
      'delete the journal entries, stored files and cached contacts of a person; opt-outs are kept',
    )
    .action(async (options: PersonOptions, command: Command) => {
      const { output, operator, confirm } = contextOf(command);
      const client = operator();
      const person = bodyOf(options);
      const where = options.location === undefined ? 'all locations' : printable(options.location);
      await confirm(`Erase the data of this person in ${where}? This cannot be undone.`);
      const erased = await client.ask(erasePerson, person);
      output.result(
        `Erased ${erased.messages} messages and ${erased.files} files. Kept ${erased.optOutsKept} opt-outs, so that the person is not texted again.`,
        { ...erased },
      );
    });

  retentionCommand(privacy);
}

interface RetentionOptions {
  readonly journalDays?: string;
  readonly assetDays?: string;
}

function retentionCommand(privacy: Command): void {
  privacy
    .command('retention [location]')
    .description('list how many days data is kept, or change this for a location')
    .option(
      '--journal-days <days>',
      'days to keep the journal of this location; "default" for the setting of the service',
    )
    .option(
      '--asset-days <days>',
      'days to keep the files of this location; "default" for the setting of the service',
    )
    .action(async (locationId: string | undefined, options: RetentionOptions, command: Command) => {
      const { output, operator, confirm } = contextOf(command);
      const client = operator();
      const { defaults } = await client.ask(listRetention, { limit: 1 });
      const locations = await everyPage(
        (page) => client.ask(listRetention, page),
        (page) => page.locations,
      );
      if (locationId === undefined) {
        output.rows(
          [{ locationId: 'all others', ...defaults }, ...locations],
          [
            { title: 'LOCATION', value: (row) => row.locationId },
            { title: 'JOURNAL (DAYS)', value: ({ journalDays }) => shownDays(journalDays) },
            { title: 'FILES (DAYS)', value: ({ assetDays }) => shownDays(assetDays) },
          ],
          '',
        );
        return;
      }
      const current = locations.find((one) => one.locationId === locationId);
      const body = {
        journalDays: daysOf('--journal-days', options.journalDays, current?.journalDays ?? null),
        assetDays: daysOf('--asset-days', options.assetDays, current?.assetDays ?? null),
      };
      await confirm(
        `Change how long the data of ${printable(locationId)} is kept? Older data will be deleted.`,
      );
      const changed = await client.ask(setRetention, { locationId, ...body });
      output.result(
        `${printable(locationId)}: journal ${changed.journalDays ?? defaults.journalDays} days, files ${changed.assetDays ?? defaults.assetDays} days.`,
        { ...changed },
      );
    });
}

const shownDays = (days: number | null): string => (days === null ? 'default' : String(days));

/** Returns null for `default`, and the current value without the option. */
function daysOf(option: string, text: string | undefined, current: number | null): number | null {
  if (text === undefined) return current;
  if (text === 'default') return null;
  const days = Number(text);
  if (Number.isInteger(days) && days >= 1 && days <= 3650) return days;
  throw new CliError(`${option} must be a whole number from 1 to 3650, or default`, { exitCode: EXIT.usage });
}

const ofPerson = (command: Command): Command =>
  command
    .requiredOption('--phone <number>', PHONE_HELP)
    .option('--location <id>', 'only this location (default: all)');

const bodyOf = ({ phone, location }: PersonOptions) => ({
  phone: phoneOf(phone),
  ...(location !== undefined && { locationId: location }),
});
