import { join } from 'node:path';

import type { StateFrame } from '@footbridge/protocol/frames';

import type { SavedLinkState } from '../../flows/link/link-state.ts';
import type { CheckResult } from '../../flows/selftest/checks.ts';
import type { SelftestOptions, SelftestRecord, SelftestStep } from '../../flows/selftest/selftest.ts';
import type { Permission, PermissionState, StoreState } from '../../ports/messages/messages.ts';
import type { Outcome } from '../../outcome.ts';

/** What the running agent reports about itself, without any text, phone number or message id. */
export interface AgentReport {
  readonly version: string;
  readonly location: string;
  readonly link: SavedLinkState;
  readonly store: StoreState;
  /** The age of the newest message in the store, or null when there is none. */
  readonly newestMessageAgeSec: number | null;
  readonly engine: 'macos' | 'bluebubbles';
  /** Whether the agent uses the screen. Always false with BlueBubbles. */
  readonly uiAutomation: boolean;
  /** What macOS granted at the last request, which may have been made by an earlier process of the agent. */
  readonly grantedBefore: readonly Permission[];
  readonly state: Omit<StateFrame, 'type'>;
}

/** The calls that other commands of the owner make to the running agent. Only the agent has the permissions that macOS gave to the app. */
export interface LocalCalls {
  report(): AgentReport;
  requestPermission(permission: Permission): Promise<PermissionState>;
  sendText(to: string, text: string): Promise<Outcome>;
  /** Resolves with the record of all steps. */
  selftest(options: SelftestOptions, listener: SelftestListener): Promise<SelftestRecord>;
  /** Kills the agent while it sends a text. Resolves only if that fails. */
  interruptSend(to: string): Promise<CheckResult>;
  /** Resolves with the outcome of the text that the agent was sending when it was killed. */
  resolveInterruptedSend(): Promise<CheckResult>;
  stop(): void;
}

export interface SelftestListener {
  /** Called after each step. */
  readonly onStep: (step: SelftestStep) => void;
  /** Called when the owner has to do something. */
  readonly onNote: (note: string) => void;
}

/** In the data folder, which only the owner can enter. */
export const localSocketPath = (dataDir: string): string => join(dataDir, 'agent.sock');

/** One line of a response: an intermediate result, the final one, or the reason why there is none. */
export type ResponseLine =
  | { readonly step: SelftestStep }
  | { readonly note: string }
  | { readonly result: unknown }
  | { readonly error: string };
