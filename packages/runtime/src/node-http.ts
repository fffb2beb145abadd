/**
 * node:http, loaded without an `import`. An `import` reads every export of a built-in module, and two exports of node:http load Node's fetch
 * and WebSocket, which are not used here and cost 15 MB of memory and a tenth of the startup time.
 */
export const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http');
