import { readFileSync } from 'node:fs';

import type { CommandResult } from './command-result.ts';

interface Job {
  readonly label: string;
  readonly path: string;
  /** Read once: later changes of the file do not change a loaded job. */
  readonly plist: string;
  readonly program: string;
  pid: number | undefined;
  runs: number;
}

const NO_SUCH_PROCESS = 3;
const INPUT_OUTPUT_ERROR = 5;
const USAGE = 64;
const NO_SUCH_SERVICE = 113;

/** `spawn scheduled`: the program ended and is started again soon. */
export type JobState = 'running' | 'spawn scheduled' | 'not running';

/** What starts and ends the programs of jobs. */
export interface JobRunner {
  /** Returns the process id. */
  start(label: string, plist: string): number | undefined;
  stop(label: string): void;
  state(label: string): JobState;
}

/** `launchctl`: launch agents of one user. Without a runner a started job has a process id, and no process. */
export class Launchctl {
  readonly #runner: JobRunner | undefined;
  readonly #jobs = new Map<string, Job>();
  readonly #disabled = new Set<string>();
  #nextPid = 500;

  constructor(runner?: JobRunner) {
    this.#runner = runner;
  }

  /** The owner restarted the Mac: nothing is loaded any more. */
  reset(): void {
    this.#jobs.clear();
  }

  /** `disabled`: labels that the owner switched off in System Settings. */
  configure({ disabled }: { disabled: readonly string[] }): void {
    this.#disabled.clear();
    for (const label of disabled) this.#disabled.add(label);
  }

  run([verb, ...args]: readonly string[]): CommandResult {
    const target = args.at(-1) ?? '';
    if (verb === 'bootstrap' && args.length === 2) return this.#bootstrap(target);
    if (verb === 'bootout') return this.#bootout(target);
    if (verb === 'kickstart') return this.#kickstart(target, args.includes('-k'));
    if (verb === 'print') return this.#print(target);
    if (verb === 'print-disabled') return this.#printDisabled();
    if (verb === 'enable' || verb === 'disable') return this.#enable(labelOf(target), verb === 'enable');
    return { stderr: `Unrecognized subcommand: ${verb ?? ''}\n`, exitCode: USAGE };
  }

  #bootstrap(path: string): CommandResult {
    const failed = (code: number, reason: string): CommandResult => ({
      stderr: `Bootstrap failed: ${code}: ${reason}\n`,
      exitCode: code,
    });
    let plist: string;
    try {
      plist = readFileSync(path, 'utf8');
    } catch {
      return failed(2, 'No such file or directory');
    }
    const label = stringOf(plist, 'Label');
    if (label === undefined || this.#jobs.has(label) || this.#disabled.has(label))
      return failed(INPUT_OUTPUT_ERROR, 'Input/output error');
    const program = /<key>ProgramArguments<\/key>\s*<array>\s*<string>([^<]*)/.exec(plist)?.[1] ?? '';
    const job: Job = { label, path, plist, program, pid: undefined, runs: 0 };
    this.#jobs.set(label, job);
    if (/<key>RunAtLoad<\/key>\s*<true\/>/.test(plist)) this.#start(job);
    return {};
  }

  #bootout(target: string): CommandResult {
    const isFile = target.endsWith('.plist');
    const job = [...this.#jobs.values()].find(({ label, path }) =>
      isFile ? path === target : label === labelOf(target),
    );
    if (job === undefined)
      return { stderr: `Boot-out failed: ${NO_SUCH_PROCESS}: No such process\n`, exitCode: NO_SUCH_PROCESS };
    this.#jobs.delete(job.label);
    this.#runner?.stop(job.label);
    return {};
  }

  #kickstart(target: string, isRestart: boolean): CommandResult {
    const job = this.#jobs.get(labelOf(target));
    if (job === undefined) return noService(target);
    if (this.#state(job) !== 'running' || isRestart) this.#start(job);
    return {};
  }

  #print(target: string): CommandResult {
    const job = this.#jobs.get(labelOf(target));
    if (job === undefined) return noService(target);
    const { path, program, pid, runs } = job;
    const state = this.#state(job);
    const lines = [
      `${target} = {`,
      `\tactive count = ${state === 'running' ? 1 : 0}`,
      `\tpath = ${path}`,
      '\ttype = LaunchAgent',
      `\tstate = ${state}`,
      '',
      `\tprogram = ${program}`,
      `\truns = ${runs}`,
      ...(pid !== undefined && state === 'running' ? [`\tpid = ${pid}`] : []),
      '}',
    ];
    return { stdout: `${lines.join('\n')}\n` };
  }

  #printDisabled(): CommandResult {
    const lines = [...this.#disabled].map((label) => `\t\t"${label}" => disabled\n`);
    return { stdout: `\tdisabled services = {\n${lines.join('')}\t}\n` };
  }

  #enable(label: string, isEnabled: boolean): CommandResult {
    if (isEnabled) this.#disabled.delete(label);
    else this.#disabled.add(label);
    return {};
  }

  #state(job: Job): JobState {
    if (job.pid === undefined) return 'not running';
    return this.#runner?.state(job.label) ?? 'running';
  }

  #start(job: Job): void {
    this.#nextPid += 1;
    job.pid = this.#runner === undefined ? this.#nextPid : this.#runner.start(job.label, job.plist);
    job.runs += 1;
  }
}

/** `gui/501/com.example.agent` → `com.example.agent`. */
function labelOf(target: string): string {
  return target.split('/').at(-1) ?? '';
}

function noService(target: string): CommandResult {
  const [, uid = ''] = target.split('/');
  const stderr = `Could not find service "${labelOf(target)}" in domain for user gui: ${uid}\n`;
  return { stderr: `Bad request.\n${stderr}`, exitCode: NO_SUCH_SERVICE };
}

function stringOf(plist: string, key: string): string | undefined {
  return new RegExp(`<key>${key}</key>\\s*<string>([^<]+)</string>`).exec(plist)?.[1];
}
