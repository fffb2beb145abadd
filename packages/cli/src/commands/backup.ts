import { resolve } from 'node:path';

import type { BackupSummary } from '@footbridge/protocol/maintenance';
import { printable } from '@footbridge/runtime/printable';
import type { Command } from 'commander';

import { KEY_FILE_HELP, backupKey } from '../backup-key.ts';
import { contextOf } from '../command-context.ts';
import { runMaintenance } from '../run-maintenance.ts';

const BACKUP_EXAMPLES = `
Examples:
  footbridge backup footbridge.backup
  footbridge backup /var/backups/footbridge-$(date +%F).backup --key-file /etc/footbridge/backup-key`;
const RESTORE_EXAMPLES = `
Examples:
  footbridge restore footbridge.backup --check
  footbridge restore footbridge.backup`;

/** `footbridge backup`: works while the service runs. */
export function backupCommand(program: Command): void {
  program
    .command('backup <file>')
    .addHelpText('after', BACKUP_EXAMPLES)
    .option('--key-file <file>', KEY_FILE_HELP)
    .option('--force', 'replace the file if it exists')
    .action(async (file: string, options: { keyFile?: string; force?: boolean }, command: Command) => {
      const context = contextOf(command);
      const { io, output } = context;
      context.beforeChange(`write a backup to ${printable(file)}`);
      const key = await backupKey(context, options.keyFile, { repeat: true });
      const request = {
        action: 'backup',
        file: resolve(file),
        ...(key !== undefined && { key }),
        force: options.force === true,
      } as const;
      const { backup } = await runMaintenance(io, request, 'backup');
      output.result(`Backed up ${contents(backup)} to ${printable(backup.file)}.`, { ...backup });
      output.hint('Store the key and CRM_OAUTH_ENCRYPTION_KEY separately from the backup.');
    });
}

/** `footbridge restore`: the service must be stopped. */
export function restoreCommand(program: Command): void {
  program
    .command('restore <file>')
    .addHelpText('after', RESTORE_EXAMPLES)
    .option('--key-file <file>', KEY_FILE_HELP)
    .option('--check', 'only verify that the backup is complete and that the key decrypts it')
    .action(async (file: string, options: { keyFile?: string; check?: boolean }, command: Command) => {
      const context = contextOf(command);
      const { io, output } = context;
      const checkOnly = options.check === true;
      if (!checkOnly) {
        context.beforeChange(`replace the data of the service with ${printable(file)}`);
        await context.confirm(`Replace the data of the service with ${printable(file)}?`);
      }
      const key = await backupKey(context, options.keyFile, { repeat: false });
      const request = {
        action: 'restore',
        file: resolve(file),
        ...(key !== undefined && { key }),
        checkOnly,
      } as const;
      if (checkOnly) {
        const { backup } = await runMaintenance(io, request, 'backup');
        output.result(`The backup is complete: ${contents(backup)}.`, { ...backup });
        return;
      }
      const { backup, former } = await runMaintenance(io, request, 'restored');
      output.result(`Restored ${contents(backup)}.`, { ...backup, former });
      for (const path of former)
        output.hint(
          `The previous database was kept as ${path}. Delete it once the service works as expected.`,
        );
      output.hint('Next: start the service, then run footbridge doctor.');
    });
}

const contents = ({ rows, createdAt, version }: BackupSummary): string =>
  `${rows} rows from ${createdAt} (version ${version})`;
