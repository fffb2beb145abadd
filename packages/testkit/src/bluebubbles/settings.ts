/** The server and the Mac around it. */
export interface BlueBubblesSettings {
  readonly password: string;
  readonly version: string;
  readonly osVersion: string;
  /** The owner's setting. Without it only AppleScript is left. */
  readonly privateApi: boolean;
  /** Helpers inside Messages. The server gives every command to each of them, so two helpers send everything twice. */
  readonly helpers: number;
  /** `helper_connected` counts this helper too. */
  readonly faceTimeHelper: boolean;
  /** `/server/info` fails for a store with a chat that has no account. */
  readonly infoFails: boolean;
  /** The Apple account, or null when Messages is signed out. */
  readonly appleId: string | null;
  readonly smsForwarding: boolean;
  readonly notOnIMessage: readonly string[];
  /** Milliseconds from the command to the row, and from the row to `is_sent`. */
  readonly rowMs: number;
  readonly sentMs: number;
  /** Milliseconds that the server takes to respond after it has found the row. */
  readonly replyMs: number;
  /** How a response is sent. */
  readonly wire: WireForm;
  /** How long a millisecond of the server's own timeouts takes: 0.001 turns 120 seconds into 0.12. */
  readonly timeScale: number;
}

export type WireForm =
  | 'plain'
  /** In chunks that split characters. */
  | 'chunked'
  /** Compressed, although the request does not offer it. */
  | 'gzip'
  /** With a byte order mark. */
  | 'marked'
  /** Without a length: the end of the connection is the end of the body. */
  | 'closing'
  /** A line of the header per second. */
  | 'slow_header';

export const DEFAULT_SETTINGS: BlueBubblesSettings = {
  password: 'pass word&1+2',
  version: '1.9.9',
  osVersion: '26.1',
  privateApi: true,
  helpers: 1,
  faceTimeHelper: false,
  infoFails: false,
  appleId: 'owner@example.com',
  smsForwarding: true,
  notOnIMessage: [],
  rowMs: 5,
  sentMs: 5,
  replyMs: 0,
  wire: 'plain',
  timeScale: 1,
};

export type Route = 'ping' | 'info' | 'account' | 'text' | 'attachment' | 'react' | 'new_chat';

/** How a call differs from its normal course. Times are those of the server and are scaled. */
export interface BlueBubblesFault {
  /** Default: every route that sends. */
  readonly route?: Route;
  /** Milliseconds before the helper gets the command. */
  readonly stallMs?: number;
  /** Whether Messages carries the command out. Default: true. */
  readonly effect?: boolean;
  /** Milliseconds from the command to the row. */
  readonly rowMs?: number;
  /** `message.error` of the row. The row is there before the error is. */
  readonly error?: number;
  /** Milliseconds from the row to its error or to `is_sent`. */
  readonly sentMs?: number;
  /** Messages loses the thread of a reply and sends the text alone. */
  readonly plain?: boolean;
  /** The helper does not respond: the server gives up after 120 seconds. */
  readonly silent?: boolean;
  /** The GUID that the helper returns: of the message before, or of a message in another chat. */
  readonly guid?: 'stale' | 'foreign';
  /** Messages quits while it handles the command and is started again. The helper is gone for this time. */
  readonly messagesDownMs?: number;
  /** The server restarts while it handles the command, and does not listen for this time. */
  readonly serverDownMs?: number;
  /** The server responds as soon as the helper has the command, before there is a row. */
  readonly early?: boolean;
  /** How Messages changes the text in the row. */
  readonly textForm?: 'decomposed' | 'trimmed' | 'marked';
  /** The server gives the command to the helper again after this time. */
  readonly againMs?: number;
  /** The response, instead of the one that the result calls for. */
  readonly reply?: FaultReply;
}

export type FaultReply =
  /** `error.message` of a response with status 500. Nothing is sent unless `effect` is true. */
  | { readonly refuse: string }
  | {
      readonly send:
        /** The connection is closed without a response. */
        | 'nothing'
        /** 504 after five minutes, while the work goes on. */
        | 'gateway_timeout'
        /** 500 with `data: null`. */
        | 'data_null'
        /** 500 of an exception without a class. */
        | 'unhandled'
        | 'already_queued'
        | 'html'
        /** 10 MB of JSON. */
        | 'huge'
        | 'half_json'
        | 'not_an_envelope'
        /** 200 with `{}`. */
        | 'empty_object'
        /** 200 with an array as `data`. */
        | 'data_array'
        /** 400 and 404, as for a command that is not carried out. */
        | 'invalid'
        | 'not_found'
        /** 200, and an error in the body. */
        | 'error_in_200'
        /** 200 without a body. */
        | 'empty'
        /** 429 of something before the server. */
        | 'rate_limited'
        /** 301 to https. */
        | 'redirect'
        /** The beginning of a response, then a reset of the connection. */
        | 'reset'
        /** The headers, and a body that does not end. */
        | 'endless';
    };
