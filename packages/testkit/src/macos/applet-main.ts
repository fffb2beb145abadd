import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { createContext, runInContext } from 'node:vm';

// `applet-main.ts SCRIPT`: runs the script of an applet and ends with it. Has `NSTask` as far as an applet needs it; the bridge calls
// a method without parameters when it is read.
const [script = ''] = process.argv.slice(2);
const context = createContext({
  ObjC: { import: () => undefined, unwrap: (value: unknown) => value },
  $: {
    NSHomeDirectory: () => process.env['HOME'],
    NSTask: {
      launchedTaskWithLaunchPathArguments: (path: string, args: readonly string[]) => ({
        get waitUntilExit(): undefined {
          spawnSync(path, args, { stdio: ['ignore', 'ignore', 'inherit'] });
          return undefined;
        },
      }),
    },
  },
});
runInContext(readFileSync(script, 'utf8'), context);
