// Sends a message that it reads from standard input: node send.mjs < message.json
import { json } from 'node:stream/consumers';
import { BridgeClient, sendMessage } from '@footbridge/kit';

const { BRIDGE_URL = '', CRM_PRIVATE_KEY = '' } = process.env;
const client = new BridgeClient({ url: BRIDGE_URL, privateKey: CRM_PRIVATE_KEY });
const sent = await sendMessage(client, await json(process.stdin));
console.log(sent.ok ? `Forwarded to the Mac, request ${sent.requestId}.` : `${sent.code}: ${sent.message}`);
process.exitCode = sent.ok ? 0 : 1;
