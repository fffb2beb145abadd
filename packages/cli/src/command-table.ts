import type { Command } from 'commander';

/** One command. Its module is loaded on demand, so that the program prints early. */
export interface CommandEntry {
  readonly name: string;
  readonly aliases?: readonly string[];
  readonly about: string;
  /** Resolves with the function that adds the command, with its arguments, options and subcommands, to the program. */
  readonly load: () => Promise<(program: Command) => void>;
}

/** All commands, by the heading under which the help lists them. */
export const COMMANDS: Readonly<Record<string, readonly CommandEntry[]>> = {
  'Get started:': [
    {
      name: 'demo',
      about: 'show the whole path of a message on this machine, with a simulated CRM and a simulated Mac',
      load: async () => (await import('./commands/programs.ts')).demoCommand,
    },
    {
      name: 'start',
      about: 'start the service; settings come from the environment or .env',
      load: async () => (await import('./commands/programs.ts')).startCommand,
    },
    {
      name: 'login',
      about: 'save the address and the token of a service as a profile',
      load: async () => (await import('./commands/login.ts')).loginCommand,
    },
    {
      name: 'logout',
      about: 'remove a profile saved by login',
      load: async () => (await import('./commands/login.ts')).logoutCommand,
    },
    {
      name: 'profiles',
      aliases: ['profile'],
      about: 'list the profiles saved by login',
      load: async () => (await import('./commands/login.ts')).profilesCommand,
    },
    {
      name: 'open',
      about: 'open the console in the browser of this machine, signed in',
      load: async () => (await import('./commands/console.ts')).openCommand,
    },
    {
      name: 'console',
      about: 'print a link that signs a browser in to the console; it works once, within a minute',
      load: async () => (await import('./commands/console.ts')).consoleCommand,
    },
    {
      name: 'completion',
      about: 'print a script that completes commands and options in a shell',
      load: async () => (await import('./commands/completion.ts')).completionCommand,
    },
  ],
  'Messages:': [
    {
      name: 'send',
      about: 'send a test text as the CRM would, and follow it with --wait',
      load: async () => (await import('./commands/send.ts')).sendCommand,
    },
    {
      name: 'find',
      about: 'find the messages from or to a person, newest first',
      load: async () => (await import('./commands/find.ts')).findCommand,
    },
    {
      name: 'reach',
      about:
        'say whether a person is reached by iMessage or SMS, from the history of the Mac; nothing is sent',
      load: async () => (await import('./commands/reach.ts')).reachCommand,
    },
    {
      name: 'tail',
      about: 'show messages live',
      load: async () => (await import('./commands/tail.ts')).tailCommand,
    },
    {
      name: 'show',
      about: 'show what became of a message; by messageId, guid or requestId',
      load: async () => (await import('./commands/show.ts')).showCommand,
    },
    {
      name: 'redeliver',
      about:
        'ask the Mac to resend an inbound message that was not delivered to the CRM, or allow another attempt for a message that was set aside',
      load: async () => (await import('./commands/redeliver.ts')).redeliverCommand,
    },
    {
      name: 'capture',
      about: 'show the texts of new messages of a location for 15 minutes; the audit log records this',
      load: async () => (await import('./commands/capture.ts')).captureCommand,
    },
  ],
  'Troubleshooting:': [
    {
      name: 'doctor',
      about: 'check everything between the CRM and the Macs, with one remedy for each finding',
      load: async () => (await import('./commands/doctor.ts')).doctorCommand,
    },
    {
      name: 'issues',
      aliases: ['issue'],
      about: 'show what is wrong, since when, which locations it affects and what to do',
      load: async () => (await import('./commands/issues.ts')).issuesCommand,
    },
    {
      name: 'alerts',
      aliases: ['alert'],
      about: 'show where alerts are sent, and send a test alert',
      load: async () => (await import('./commands/alerts.ts')).alertsCommand,
    },
    {
      name: 'explain',
      about: 'explain an error code, an HTTP status or a close code, or list all of them',
      load: async () => (await import('./commands/explain.ts')).explainCommand,
    },
    {
      name: 'sign',
      about: 'sign a webhook body as the CRM does; works offline',
      load: async () => (await import('./commands/sign.ts')).signCommand,
    },
    {
      name: 'verify',
      about: 'verify a signature and, if it is invalid, name the step that fails',
      load: async () => (await import('./commands/verify.ts')).verifyCommand,
    },
  ],
  'Development:': [
    {
      name: 'conformance',
      about: 'check that a CRM works with Footbridge in both directions, and write a report',
      load: async () => (await import('./commands/conformance.ts')).conformanceCommand,
    },
    {
      name: 'trigger',
      about: 'make a simulated Mac receive a text, a reaction, a voice message or another event',
      load: async () => (await import('./commands/trigger.ts')).triggerCommand,
    },
    {
      name: 'listen',
      about: 'forward the calls that the service makes to the CRM to a local program',
      load: async () => (await import('./commands/listen.ts')).listenCommand,
    },
  ],
  'CRM and Macs:': [
    {
      name: 'setup',
      about: 'connect a CRM, step by step',
      load: async () => (await import('./commands/setup.ts')).setupCommand,
    },
    {
      name: 'crm',
      about: 'diagnose the installed app: token, scopes, provider, last webhook, rejections',
      load: async () => (await import('./commands/crm.ts')).crmCommand,
    },
    {
      name: 'keys',
      aliases: ['key'],
      about: 'manage the CRM public keys that may sign webhooks',
      load: async () => (await import('./commands/keys.ts')).keysCommand,
    },
    {
      name: 'license',
      aliases: ['licence', 'licenses', 'licences'],
      about: 'manage licenses and their seats',
      load: async () => (await import('./commands/license.ts')).licenseCommand,
    },
    {
      name: 'location',
      aliases: ['locations'],
      about: 'manage locations, their licenses and their Macs',
      load: async () => (await import('./commands/location.ts')).locationCommand,
    },
    {
      name: 'device',
      aliases: ['devices', 'mac', 'macs'],
      about: 'manage activated Macs',
      load: async () => (await import('./commands/device.ts')).deviceCommand,
    },
  ],
  'People:': [
    {
      name: 'opt-out',
      aliases: ['opt-outs', 'optout'],
      about: 'manage the people who opted out of texts',
      load: async () => (await import('./commands/opt-out.ts')).optOutCommand,
    },
    {
      name: 'privacy',
      about: 'export or erase the data of one person, and set how long data is kept',
      load: async () => (await import('./commands/privacy.ts')).privacyCommand,
    },
  ],
  'Operators:': [
    {
      name: 'token',
      aliases: ['tokens'],
      about: 'manage operator tokens for others',
      load: async () => (await import('./commands/token.ts')).tokenCommand,
    },
    {
      name: 'audit',
      about: 'list who changed what, newest first',
      load: async () => (await import('./commands/audit.ts')).auditCommand,
    },
  ],
  'Maintenance:': [
    {
      name: 'backup',
      about:
        'write an encrypted backup of the database and the keys in the data folder; the service can keep running',
      load: async () => (await import('./commands/backup.ts')).backupCommand,
    },
    {
      name: 'restore',
      about: 'verify a backup and restore it; the service must be stopped',
      load: async () => (await import('./commands/backup.ts')).restoreCommand,
    },
    {
      name: 'migrate',
      about: 'apply pending database changes without starting the service, or list them',
      load: async () => (await import('./commands/migrate.ts')).migrateCommand,
    },
    {
      name: 'config',
      about: 'check the settings of the service without starting it',
      load: async () => (await import('./commands/config.ts')).configCommand,
    },
  ],
};
