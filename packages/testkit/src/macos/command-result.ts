/** What a system program prints, and how it ends. */
export interface CommandResult {
  readonly stdout?: string;
  readonly stderr?: string;
  /** Default: 0. */
  readonly exitCode?: number;
}
