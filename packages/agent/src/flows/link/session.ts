import type {
  AckFrame,
  ReachRequestFrame,
  RegisteredFrame,
  RequestNames,
  SendFrame,
} from '@footbridge/protocol/frames';

import type { SessionEnd } from './after-close.ts';

/** One connection to the service, from the upgrade request to its end. */
export interface Session {
  /** Resolves once, when the session has ended. Never rejects. */
  readonly ended: Promise<SessionEnd>;
  isOpen(): boolean;
  send(text: string): void;
  /** Ends the session from this side; `ended` resolves with `how`. */
  end(how: 'woke' | 'stopped'): void;
}

/** Receives the frames of one session. A handler that throws makes the session close and be retried. */
export interface SessionHandlers {
  readonly onRegistered: (frame: RegisteredFrame) => void;
  readonly onSend: (frame: SendFrame) => void;
  readonly onAck: (frame: AckFrame) => void;
  readonly onRedeliver: (seq: number) => void;
  readonly onReachRequest: (frame: ReachRequestFrame) => void;
  /** The operator allows another attempt to send a message that was set aside (I10). */
  readonly onAllowed: (messageId: string) => void;
  /** A `send` frame for a message that was set aside. The frame is not parsed. */
  readonly onSetAside: (request: RequestNames) => void;
  /** An invalid `send` frame that still names its request. */
  readonly onInvalidSend: (request: RequestNames, reason: string) => void;
  /** A frame of an unknown type, or an invalid one that names no request. */
  readonly onIgnored: () => void;
}

export type OpenSession = (token: string, handlers: SessionHandlers) => Session;
