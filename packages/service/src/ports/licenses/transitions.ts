/** One way from a state into another: who may take it, and what holds then. `none` stands for "not there yet". */
export interface Transition<State extends string> {
  readonly from: State | 'none';
  readonly to: State;
  readonly by: 'operator' | 'Mac';
  readonly rule: string;
}

export type LicenseStatus = 'active' | 'suspended' | 'revoked';
export type DeviceStatus = 'active' | 'deactivated' | 'revoked';
export type LocationState = 'unassigned' | 'bound' | 'released';

export const LICENSE_TRANSITIONS: readonly Transition<LicenseStatus>[] = [
  {
    from: 'none',
    to: 'active',
    by: 'operator',
    rule: 'The key is shown once; only its hash is kept.',
  },
  {
    from: 'active',
    to: 'suspended',
    by: 'operator',
    rule: 'Its Macs are closed with 4503 and cannot connect or activate; seats and locations stay theirs.',
  },
  {
    from: 'suspended',
    to: 'active',
    by: 'operator',
    rule: 'The same keys and tokens work again.',
  },
  {
    from: 'active',
    to: 'revoked',
    by: 'operator',
    rule: 'Final. The key and all its tokens are dead; its locations stay bound to it until the operator gives them to another license.',
  },
  { from: 'suspended', to: 'revoked', by: 'operator', rule: 'As above.' },
];

export const DEVICE_TRANSITIONS: readonly Transition<DeviceStatus>[] = [
  { from: 'none', to: 'active', by: 'Mac', rule: 'Needs the key of an active license and a free seat.' },
  {
    from: 'active',
    to: 'active',
    by: 'Mac',
    rule: 'Activating again takes no second seat; a new token is given out and the old one is dead.',
  },
  {
    from: 'active',
    to: 'deactivated',
    by: 'Mac',
    rule: 'The seat is free, the token dead, its socket closed.',
  },
  { from: 'deactivated', to: 'active', by: 'Mac', rule: 'As a new device: a seat must be free.' },
  {
    from: 'active',
    to: 'revoked',
    by: 'operator',
    rule: 'The seat is free, the token dead, its socket closed with 4503; this device cannot activate again.',
  },
  { from: 'deactivated', to: 'revoked', by: 'operator', rule: 'This device cannot activate again.' },
  {
    from: 'revoked',
    to: 'deactivated',
    by: 'operator',
    rule: 'Restored: it may activate again, and needs a free seat to do so.',
  },
];

export const LOCATION_TRANSITIONS: readonly Transition<LocationState>[] = [
  {
    from: 'none',
    to: 'unassigned',
    by: 'Mac',
    rule: 'With LOCATION_CLAIM=operator: a Mac asked for it, was refused with 4504, and the operator can see it.',
  },
  {
    from: 'none',
    to: 'bound',
    by: 'Mac',
    rule: 'With LOCATION_CLAIM=first: the license that comes first owns it.',
  },
  { from: 'none', to: 'bound', by: 'operator', rule: 'Assigned before any Mac came.' },
  { from: 'unassigned', to: 'bound', by: 'Mac', rule: 'With LOCATION_CLAIM=first.' },
  { from: 'unassigned', to: 'bound', by: 'operator', rule: 'Assigned.' },
  {
    from: 'bound',
    to: 'bound',
    by: 'operator',
    rule: 'Assigned to another license; Macs of the former one are closed with 4504.',
  },
  {
    from: 'bound',
    to: 'released',
    by: 'operator',
    rule: 'Nobody owns it; its Mac is closed with 4504.',
  },
  { from: 'released', to: 'bound', by: 'Mac', rule: 'With LOCATION_CLAIM=first.' },
  { from: 'released', to: 'bound', by: 'operator', rule: 'Assigned.' },
];

/** Whether the way exists at all; who may take it is decided by which call leads there. */
export function mayBecome<State extends string>(
  table: readonly Transition<State>[],
  from: State | 'none',
  to: State,
): boolean {
  return table.some((transition) => transition.from === from && transition.to === to);
}
