import type { Log } from '@footbridge/runtime/log';

/** Writes nothing. */
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };
