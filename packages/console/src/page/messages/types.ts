import type { ResponseOf } from '@footbridge/protocol/operator/call';
import type { listMessages, showMessage } from '@footbridge/protocol/operator/messages';

export type Message = ResponseOf<typeof listMessages>['messages'][number];
/** A message with every request that carried it. */
export type History = ResponseOf<typeof showMessage>;
export type Request = History['requests'][number];
export type Step = Request['steps'][number];
