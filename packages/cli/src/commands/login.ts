import { showSession } from '@footbridge/protocol/operator/session';
import { printable } from '@footbridge/runtime/printable';
import type { Command } from 'commander';

import { CliError, EXIT, usageError } from '../cli-error.ts';
import { contextOf } from '../command-context.ts';
import { createOperatorClient } from '../operator-client.ts';
import {
  checkedProfileName,
  DEFAULT_PROFILE,
  findProfile,
  profilesFile,
  readProfiles,
  saveProfiles,
} from '../profiles.ts';
import { askHidden } from '../prompt.ts';
import { isToken, readSecret } from '../read-secret.ts';
import { serviceTarget } from '../service-target.ts';

const EXAMPLES = `
Examples:
  footbridge login --url https://bridge.example.com:4610
  footbridge login office --url https://office.example.com:4610 --token-file operator-token
  footbridge issues --profile office`;

/** `footbridge login [PROFILE]`: checks a token and saves it with the address of its service. */
export function loginCommand(program: Command): void {
  program
    .command('login')
    .argument('[profile]', `name of the profile (default: ${DEFAULT_PROFILE})`)
    .addHelpText('after', EXAMPLES)
    .action(async (name: string | undefined, _options: object, command: Command) => {
      const { io, output, timeoutMs, noInput, beforeChange } = contextOf(command);
      const { url, tokenFile } = command.optsWithGlobals<{ url?: string; tokenFile?: string }>();
      const profile = checkedProfileName(name ?? DEFAULT_PROFILE);
      if (url === undefined)
        throw usageError('login needs --url, the address of the operator listener of the service');
      if (noInput && tokenFile === undefined && io.stdin.isTTY === true)
        throw usageError('login needs --token-file with --no-input');
      const token = tokenFile === undefined ? await askHidden(io, 'Operator token: ') : readSecret(tokenFile);
      if (!isToken(token))
        throw new CliError('this is not an operator token: it is empty or contains spaces', {
          exitCode: EXIT.usage,
          next: 'it is in the file operator-token in the data folder of the service; footbridge token create creates tokens for others',
        });
      const target = { ...serviceTarget({ url }, {}), token: () => token, tokenFrom: 'your input' };
      const session = await createOperatorClient(target, timeoutMs).ask(showSession);
      beforeChange(`save the profile ${profile} in ${profilesFile(io.env)}`);
      const profiles = new Map(readProfiles(io.env)).set(profile, { url, token });
      saveProfiles(io.env, profiles);
      const scope = session.readOnly ? ', read-only' : '';
      output.result(`Logged in to ${url} as ${printable(session.label)}${scope}. Profile: ${profile}.`, {
        profile,
        url,
        label: session.label,
        readOnly: session.readOnly,
        locations: session.locations,
        file: profilesFile(io.env),
      });
      output.hint(
        profile === DEFAULT_PROFILE
          ? 'It is used whenever no other service is named.'
          : `To use it: footbridge issues --profile ${profile}, or set FOOTBRIDGE_PROFILE.`,
      );
    });
}

/** `footbridge logout [PROFILE]`. The token stays valid: `footbridge token remove` ends it. */
export function logoutCommand(program: Command): void {
  program
    .command('logout')
    .argument('[profile]', `name of the profile (default: ${DEFAULT_PROFILE})`)
    .addHelpText('after', '\nExamples:\n  footbridge logout office')
    .action(async (name: string | undefined, _options: object, command: Command) => {
      const { io, output, beforeChange } = contextOf(command);
      const profile = checkedProfileName(name ?? DEFAULT_PROFILE);
      const { url } = findProfile(profile, io.env);
      beforeChange(`remove the profile ${profile} from ${profilesFile(io.env)}`);
      const rest = new Map(readProfiles(io.env));
      rest.delete(profile);
      saveProfiles(io.env, rest);
      output.result(`Removed the profile ${profile} (${url}).`, { profile, url, removed: true });
    });
}

/** `footbridge profiles`: the saved services, without their tokens. */
export function profilesCommand(program: Command): void {
  program
    .command('profiles')
    .addHelpText('after', '\nExamples:\n  footbridge profiles\n  footbridge profiles --json')
    .action((_options: object, command: Command) => {
      const { io, output } = contextOf(command);
      output.rows(
        [...readProfiles(io.env)].map(([profile, { url }]) => ({ profile, url })),
        [
          { title: 'PROFILE', value: ({ profile }) => profile },
          { title: 'SERVICE', value: ({ url }) => url },
        ],
        'There are no profiles. Save one with `footbridge login NAME --url URL`.',
      );
    });
}
