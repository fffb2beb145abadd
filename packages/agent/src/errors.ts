/** The agent cannot start with its present settings, and a restart does not help. */
export class ConfigurationError extends Error {
  override readonly name: string = 'ConfigurationError';
}

/** Messages exists only on a Mac. */
export class NoEngineError extends ConfigurationError {
  override readonly name = 'NoEngineError';
  constructor() {
    super('This machine is not a Mac, so there is no Messages. Add --simulate to use a simulated one.');
  }
}

/** The chosen engine must not be used with its present settings. */
export class EngineRefusedError extends ConfigurationError {
  override readonly name = 'EngineRefusedError';
  constructor(engine: string, reason: string) {
    super(`The agent does not start with ${engine}. ${reason}`);
  }
}

/** The location of an installation is fixed, because its queue and outbox belong to one tenant (M9). */
export class LocationFixedError extends ConfigurationError {
  override readonly name = 'LocationFixedError';
  constructor(dataDir: string, served: string, location: string) {
    super(
      `The agent in ${dataDir} serves ${served}, not ${location}. To move it: footbridge-agent move ${location} --data-dir ${dataDir}. To serve both locations, use another folder with --data-dir.`,
    );
  }
}

/** Two agents on one journal would send every message twice. This agent can start after the other one has ended. */
export class DataDirLockedError extends ConfigurationError {
  override readonly name = 'DataDirLockedError';
  constructor(dataDir: string, holder: string, cause: unknown) {
    super(
      `Another agent is running with ${dataDir} (${holder}). Stop it first, or use another folder with --data-dir.`,
      { cause },
    );
  }
}

/** The lock file cannot be locked, for example because it is damaged. */
export class UnusableLockError extends ConfigurationError {
  override readonly name = 'UnusableLockError';
  constructor(path: string, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(`The agent cannot lock ${path}: ${reason}. Delete the file: it contains no data.`, { cause });
  }
}

/** A newer version of the agent has migrated the journal, and this version does not know the new schema. */
export class JournalTooNewError extends ConfigurationError {
  override readonly name = 'JournalTooNewError';
  constructor(path: string) {
    super(
      `The journal at ${path} was written by a newer version of the agent. Update the agent: npx footbridge-agent@latest update`,
    );
  }
}

/** The journal has a schema that commands cannot use, and only the agent itself may migrate it. */
export class JournalTooOldError extends ConfigurationError {
  override readonly name = 'JournalTooOldError';
  constructor(path: string) {
    super(
      `The journal at ${path} has not been upgraded to this version. It is upgraded when an agent of this version starts.`,
    );
  }
}

/** The simulator cannot listen on its port, for example because another agent uses the port. */
export class ControlPortError extends ConfigurationError {
  override readonly name = 'ControlPortError';
  constructor(port: number, cause: unknown) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
    const reason = code === 'EADDRINUSE' ? 'already in use' : code;
    super(
      `The simulator cannot listen on port ${port} (${reason}). Choose another port with --control-port, or pass 0 for any free port.`,
      { cause },
    );
  }
}

/** The owner pressed Control-C. */
export class InterruptedError extends Error {
  override readonly name = 'InterruptedError';
  constructor() {
    super('Stopped with Control-C.');
  }
}

/** A call to the running agent failed. */
export class AgentCallError extends Error {
  override readonly name = 'AgentCallError';
}
