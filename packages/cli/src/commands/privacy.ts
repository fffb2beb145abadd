import type { Command } from 'commander';

import { contextOf } from '../command-context.ts';
import { printable } from '../output.ts';
import type { Row } from '../output.ts';
import { PHONE_HELP, phoneOf } from '../phone-option.ts';

interface Exported {
  /** Absent from the second page on. */
  readonly contacts?: readonly Row[];
  readonly files?: readonly Row[];
  readonly optOuts?: readonly Row[];
  readonly messages: readonly Row[];
  readonly cursor: string | null;
}

interface Erased {
  readonly messages: number;
  readonly files: number;
  readonly optOutsKept: number;
}

interface PersonOptions {
  readonly phone: string;
  readonly location?: string;
}

const EXAMPLES = `
Examples:
  footbridge privacy export --phone +15555550100 > person.jsonl
  footbridge privacy erase --phone +15555550100 --location ve9EPM428h8vShlRW1KT

Both are recorded in the audit log, without the number. The CRM and Messages on the Mac have their own data.`;

/** `footbridge privacy`: the data that the service has about one person. */
export function privacyCommand(program: Command): void {
  const privacy = program.command('privacy').addHelpText('after', EXAMPLES);

  ofPerson(privacy.command('export'))
    .description('write the data of a person to standard output, one JSON object per line')
    .action(async (options: PersonOptions, command: Command) => {
      const client = contextOf(command).operator();
      const person = bodyOf(options);
      let cursor: string | null = '';
      while (cursor !== null) {
        const page: Exported = await client.call('POST', '/operator/privacy/export', {
          ...person,
          ...(cursor !== '' && { cursor }),
        });
        const { contacts = [], files = [], optOuts = [], messages } = page;
        for (const [type, rows] of Object.entries({
          contact: contacts,
          file: files,
          optOut: optOuts,
          message: messages,
        }))
          for (const row of rows) process.stdout.write(`${JSON.stringify({ type, ...row })}\n`);
        ({ cursor } = page);
      }
    });

  ofPerson(privacy.command('erase'))
    .description(
      'delete messages from the journal, stored files and cached contacts of a person; an opt-out stays',
    )
    .action(async (options: PersonOptions, command: Command) => {
      const { output, operator, confirm } = contextOf(command);
      const person = bodyOf(options);
      const where = options.location === undefined ? 'all locations' : printable(options.location);
      await confirm(`Erase the data of this person in ${where}? This cannot be undone.`);
      const erased = await operator().call<Erased>('POST', '/operator/privacy/erase', person);
      output.result(
        `Erased ${erased.messages} messages and ${erased.files} files. Opt-outs kept, so that the person is not texted again: ${erased.optOutsKept}.`,
        { ...erased },
      );
    });
}

const ofPerson = (command: Command): Command =>
  command
    .requiredOption('--phone <number>', PHONE_HELP)
    .option('--location <id>', 'only in this location (default: in all)');

const bodyOf = ({ phone, location }: PersonOptions) => ({
  phone: phoneOf(phone),
  ...(location !== undefined && { locationId: location }),
});
