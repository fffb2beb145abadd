/**
 * node:http, loaded without an `import`. An `import` reads every export of a module, and two of node:http load Node's own fetch and WebSocket:
 * 15 MB of memory and a tenth of the start-up time, for nothing.
 */
export const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http');
