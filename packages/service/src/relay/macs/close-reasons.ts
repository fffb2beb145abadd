import { CLOSE } from '@footbridge/protocol/close-codes';
import type { CloseCode } from '@footbridge/protocol/close-codes';

import type { AuthStatus } from '../accounts/authenticate-device.ts';
import type { Admittance } from '../accounts/claim-location.ts';
import type { DisconnectReason } from '../switchboard/switchboard.ts';

export type CloseReason = readonly [code: CloseCode, reason: string];

export const ON_DISCONNECT: Readonly<Record<DisconnectReason, CloseReason>> = {
  displaced: [CLOSE.displaced, 'another Mac took over this location'],
  resumed: [CLOSE.protocol, 'this device connected again'],
  fenced: [CLOSE.goingAway, 'the service lost its hold on this location; come back'],
  closed: [CLOSE.protocol, 'disconnected by the operator'],
  moved: [CLOSE.foreignLocation, 'this location is not assigned to your license'],
};

export const BY_STATUS: Readonly<Record<Exclude<AuthStatus, 'active'>, CloseReason>> = {
  suspended: [CLOSE.suspended, 'the license is suspended'],
  inactive: [CLOSE.suspended, 'this device is no longer active'],
  replaced: [CLOSE.protocol, 'this device was activated again; connect with its new token'],
};

export const NOT_ADMITTED: Readonly<Record<Exclude<Admittance, 'owned'>, CloseReason>> = {
  foreign: [CLOSE.foreignLocation, 'this location belongs to another license'],
  unassigned: ON_DISCONNECT.moved,
  other_location: [
    CLOSE.foreignLocation,
    'this Mac was paired for another location; pair it again with a code for this one',
  ],
};

export const NOT_REGISTERED: CloseReason = [CLOSE.slow, 'no register frame within 10 seconds'];
export const NOT_READING: CloseReason = [CLOSE.slow, 'the Mac does not read'];
export const BIND_FAILED: CloseReason = [CLOSE.goingAway, 'the service cannot do this now; come back'];
export const MUST_RESEND: CloseReason = [
  CLOSE.goingAway,
  'frames were not delivered; come back and send them again',
];
