import { showAlerts, testAlerts } from '@footbridge/protocol/operator/watching';
import type { Command } from 'commander';

import { EXIT, CliError } from '../cli-error.ts';
import { contextOf } from '../command-context.ts';
import { localTime } from '../format-time.ts';

const EXAMPLES = `
Examples:
  footbridge alerts list
  footbridge alerts test`;

const NONE = 'No receiver is set. Set ALERT_SLACK_URL, ALERT_TEAMS_URL, ALERT_WEBHOOK_URL or ALERT_SMTP_URL.';

/** `footbridge alerts`: where alerts are sent, and a test alert. */
export function alertsCommand(program: Command): void {
  const alerts = program.command('alerts').addHelpText('after', EXAMPLES);

  alerts
    .command('list')
    .description('list the receivers of alerts, and how many alerts wait for each')
    .action(async (_options: object, command: Command) => {
      const { output, operator } = contextOf(command);
      const { receivers } = await operator().ask(showAlerts);
      output.rows(
        receivers.map((receiver) => ({ ...receiver })),
        [
          { title: 'RECEIVER', value: (row) => String(row['name']) },
          { title: 'TARGET', value: (row) => String(row['target']) },
          { title: 'WAITING', value: (row) => String(row['pending']) },
          { title: 'LAST SENT', value: (row) => timeOr(row['lastSentAt'], 'never') },
          { title: 'LAST ERROR', value: (row) => orElse(row['lastError'], '') },
        ],
        NONE,
      );
    });

  alerts
    .command('test')
    .description('send a test alert to every receiver, even during quiet hours')
    .action(async (_options: object, command: Command) => {
      const { output, operator } = contextOf(command);
      const { results } = await operator().ask(testAlerts);
      output.rows(
        results.map((result) => ({ ...result })),
        [
          { title: 'RECEIVER', value: (row) => String(row['name']) },
          { title: 'TARGET', value: (row) => String(row['target']) },
          { title: 'RESULT', value: (row) => (row['sent'] === true ? 'sent' : String(row['error'])) },
        ],
        NONE,
      );
      const failed = results.filter(({ sent }) => !sent);
      if (failed.length > 0 || results.length === 0)
        throw new CliError(
          results.length === 0
            ? 'no receiver of alerts is set'
            : `the test alert did not arrive: ${failed.map(({ name }) => name).join(', ')}`,
          {
            exitCode: EXIT.failed,
            next:
              results.length === 0
                ? NONE
                : 'check the address of the receiver in the settings of the service',
          },
        );
    });
}

const timeOr = (value: unknown, other: string) => (typeof value === 'string' ? localTime(value) : other);
const orElse = (value: unknown, other: string) => (typeof value === 'string' ? value : other);
