/** An allowed change of state: who makes it, and its effect. `none` means that the object does not exist yet. */
export interface Transition<State extends string> {
  readonly from: State | 'none';
  readonly to: State;
  readonly by: 'operator' | 'Mac';
  readonly rule: string;
}

export type LicenseStatus = 'active' | 'suspended' | 'revoked';
export type DeviceStatus = 'active' | 'deactivated' | 'revoked';
export type LocationState = 'unassigned' | 'bound' | 'released';

export type InvalidChange =
  | { readonly kind: 'not_found' }
  /** The tables below do not allow this change of state. */
  | { readonly kind: 'impossible'; readonly from: string; readonly to: string };

export const LICENSE_TRANSITIONS: readonly Transition<LicenseStatus>[] = [
  {
    from: 'none',
    to: 'active',
    by: 'operator',
    rule: 'The key is shown once; only its hash is stored.',
  },
  {
    from: 'active',
    to: 'suspended',
    by: 'operator',
    rule: 'Its Macs are disconnected with 4503 and cannot connect or activate. It keeps its seats and locations.',
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
    rule: 'Final. The key and all its tokens are invalid. Its locations stay bound to it until the operator assigns them to another license.',
  },
  { from: 'suspended', to: 'revoked', by: 'operator', rule: 'As above.' },
];

export const DEVICE_TRANSITIONS: readonly Transition<DeviceStatus>[] = [
  { from: 'none', to: 'active', by: 'Mac', rule: 'Needs the key of an active license and a free seat.' },
  {
    from: 'active',
    to: 'active',
    by: 'Mac',
    rule: 'Activating again takes no second seat. The device gets a new token and the old one is invalid.',
  },
  {
    from: 'active',
    to: 'deactivated',
    by: 'Mac',
    rule: 'The seat is free, the token invalid and the socket closed.',
  },
  { from: 'deactivated', to: 'active', by: 'Mac', rule: 'Like a new device: needs a free seat.' },
  {
    from: 'active',
    to: 'revoked',
    by: 'operator',
    rule: 'The seat is free, the token invalid and the socket closed with 4503. The device cannot activate again.',
  },
  { from: 'deactivated', to: 'revoked', by: 'operator', rule: 'The device cannot activate again.' },
  {
    from: 'revoked',
    to: 'deactivated',
    by: 'operator',
    rule: 'Restored: the device can activate again when a seat is free.',
  },
];

export const LOCATION_TRANSITIONS: readonly Transition<LocationState>[] = [
  {
    from: 'none',
    to: 'unassigned',
    by: 'Mac',
    rule: 'When no license may take it (LOCATION_CLAIM): a Mac requested the location, was rejected with 4504, and the operator can see it.',
  },
  {
    from: 'none',
    to: 'bound',
    by: 'Mac',
    rule: 'With LOCATION_CLAIM=first, or auto and a single license: the first license that requests the location owns it. It is shown as claimed until the operator confirms it.',
  },
  { from: 'none', to: 'bound', by: 'operator', rule: 'Assigned before the first Mac connected.' },
  {
    from: 'unassigned',
    to: 'bound',
    by: 'Mac',
    rule: 'With LOCATION_CLAIM=first, or auto and a single license.',
  },
  { from: 'unassigned', to: 'bound', by: 'operator', rule: 'Assigned.' },
  {
    from: 'bound',
    to: 'bound',
    by: 'operator',
    rule: 'Assigned to another license: Macs of the previous one are disconnected with 4504, and pairing codes become invalid. Or assigned to the same license, which confirms what one of its Macs claimed.',
  },
  {
    from: 'bound',
    to: 'released',
    by: 'operator',
    rule: 'No license owns the location. Its Mac is disconnected with 4504, and pairing codes become invalid.',
  },
  {
    from: 'released',
    to: 'bound',
    by: 'Mac',
    rule: 'With LOCATION_CLAIM=first, or auto and a single license.',
  },
  { from: 'released', to: 'bound', by: 'operator', rule: 'Assigned.' },
];

/** Returns whether the table contains the change, made by the operator or a Mac. */
export function mayBecome<State extends string>(
  table: readonly Transition<State>[],
  from: State | 'none',
  to: State,
): boolean {
  return table.some((transition) => transition.from === from && transition.to === to);
}
