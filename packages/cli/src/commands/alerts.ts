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
        receivers,
        [
          { title: 'RECEIVER', value: ({ name }) => name },
          { title: 'TARGET', value: ({ target }) => target },
          { title: 'WAITING', value: ({ pending }) => String(pending) },
          {
            title: 'LAST SENT',
            value: ({ lastSentAt }) => (lastSentAt === null ? 'never' : localTime(lastSentAt)),
          },
          { title: 'LAST ERROR', value: ({ lastError }) => lastError ?? '' },
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
        results,
        [
          { title: 'RECEIVER', value: ({ name }) => name },
          { title: 'TARGET', value: ({ target }) => target },
          { title: 'RESULT', value: ({ sent, error }) => (sent ? 'sent' : String(error)) },
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
