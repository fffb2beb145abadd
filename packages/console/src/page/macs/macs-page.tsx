import {
  changeLicense,
  createLicense,
  listDevices,
  listLicenses,
  listLocations,
  restoreDevice,
  revokeDevice,
} from '@footbridge/protocol/operator/accounts';
import type { InputOf, ResponseOf } from '@footbridge/protocol/operator/call';
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

import { ChangeButton, CopyField, Problem, TableHead, TableRow, fieldsOf, isReadOnly } from '../controls.tsx';
import { PageButtons } from '../page-buttons.tsx';
import { follow, hrefOf } from '../route.ts';
import { call } from '../session.ts';
import { MACS_TEXTS, TEXTS } from '../texts.ts';
import { timeText } from '../times.ts';
import { useAction } from '../use-action.ts';
import type { Action } from '../use-action.ts';
import { useData } from '../use-data.ts';
import { LineUsage } from './line-usage.tsx';
import type { Line } from './line-usage.tsx';

type License = ResponseOf<typeof listLicenses>['licenses'][number];
type Device = ResponseOf<typeof listDevices>['devices'][number];

/** Licenses with their seats, and the Macs that take them. */
export function MacsPage() {
  const licensesAfter = useSignal<string | undefined>(undefined);
  const devicesAfter = useSignal<string | undefined>(undefined);
  const licenses = useData(listLicenses, { after: licensesAfter.value }, { refresh: true });
  const devices = useData(listDevices, { after: devicesAfter.value }, { refresh: true });
  const locations = useData(listLocations, {}, { refresh: true });
  const action = useAction();
  useEffect(
    () =>
      action.isRunning.subscribe((isRunning) => {
        if (isRunning) return;
        licenses.reload();
        devices.reload();
      }),
    [],
  );
  const list = licenses.value.value?.licenses;
  return (
    <>
      <div class="page-head">
        <h1>{MACS_TEXTS.title}</h1>
        <a class="main-button" href={hrefOf('/macs/pair')} onClick={follow}>
          {MACS_TEXTS.pair}
        </a>
      </div>
      <Problem text={licenses.problem.value ?? action.problem.value} />
      {list?.length === 0 && <p class="hint">{MACS_TEXTS.noLicenses}</p>}
      <div class="stack">
        {list?.map((license) => (
          <LicenseCard
            key={license.id}
            license={license}
            devices={devices.value.value?.devices.filter(({ licenseId }) => licenseId === license.id) ?? []}
            isComplete={devicesAfter.value === undefined && devices.value.value?.next === undefined}
            lines={locations.value.value?.locations ?? []}
            action={action}
          />
        ))}
        <PageButtons of={TEXTS.pages.macs} after={devicesAfter} next={devices.value.value?.next} />
        <PageButtons of={TEXTS.pages.licenses} after={licensesAfter} next={licenses.value.value?.next} />
        <NewLicense onCreated={licenses.reload} />
      </div>
    </>
  );
}

interface LicenseCardProps {
  readonly license: License;
  readonly devices: readonly Device[];
  /** All Macs are shown, not a page of them. */
  readonly isComplete: boolean;
  readonly lines: readonly Line[];
  readonly action: Action;
}

function LicenseCard({ license, devices, isComplete, lines, action }: LicenseCardProps) {
  const { id, label, keyHint, status, seats } = license;
  const change = (body: Omit<InputOf<typeof changeLicense>, 'id'>) => call(changeLicense, { id, ...body });
  const seatsField = useRef<HTMLInputElement>(null);
  return (
    <section class="card">
      <div class="card-head">
        <h2>
          <bdi>{label}</bdi>
        </h2>
        <span class="hint">…{keyHint}</span>
        <span class={status === 'active' ? 'chip chip-good' : 'chip chip-bad'}>{status}</span>
      </div>
      <p class="seats">
        <meter
          min={0}
          max={seats.max}
          value={seats.used}
          aria-label={MACS_TEXTS.used(seats.used, seats.max)}
        />
        {MACS_TEXTS.used(seats.used, seats.max)}
      </p>
      {status !== 'revoked' && (
        <div class="actions">
          <input
            ref={seatsField}
            type="number"
            class="number"
            aria-label={`${MACS_TEXTS.seats}: ${label}`}
            min={1}
            defaultValue={String(seats.max)}
          />
          <ChangeButton
            name={MACS_TEXTS.setSeats}
            action={action}
            change={() => change({ maxSeats: seatsField.current?.valueAsNumber })}
          />
          {status === 'active' ? (
            <ChangeButton
              name={MACS_TEXTS.suspend}
              action={action}
              change={() => change({ status: 'suspended' })}
              warning={MACS_TEXTS.suspendWarning}
            />
          ) : (
            <ChangeButton
              name={MACS_TEXTS.resume}
              action={action}
              change={() => change({ status: 'active' })}
            />
          )}
        </div>
      )}
      {devices.length === 0 ? (
        <p class="hint">{isComplete ? MACS_TEXTS.noDevices : MACS_TEXTS.noDevicesHere}</p>
      ) : (
        <DeviceTable devices={devices} lines={lines} action={action} />
      )}
    </section>
  );
}

const COLUMNS = [
  MACS_TEXTS.mac,
  MACS_TEXTS.system,
  MACS_TEXTS.locations,
  MACS_TEXTS.lastSeen,
  MACS_TEXTS.state,
];

function DeviceTable({ devices, lines, action }: Pick<LicenseCardProps, 'devices' | 'lines' | 'action'>) {
  return (
    <table class="list">
      <TableHead names={COLUMNS} />
      <tbody>
        {devices.map(({ id, name, osVersion, appVersion, locations, lastSeenAt, status }) => (
          <TableRow key={id} names={COLUMNS}>
            <th scope="row">
              <bdi>{name}</bdi>
            </th>
            <td>
              <bdi>
                macOS {osVersion}, agent {appVersion}
              </bdi>
            </td>
            <td>
              {locations.length === 0 && MACS_TEXTS.notConnected}
              {locations.map((locationId) => (
                <div key={locationId}>
                  <bdi>{locationId}</bdi>
                  <LineUsage line={lines.find((line) => line.locationId === locationId)} />
                </div>
              ))}
            </td>
            <td class="nowrap">{timeText(lastSeenAt)}</td>
            <td>
              <div class="actions">
                <span class={status === 'active' ? 'chip chip-good' : 'chip'}>{status}</span>
                {status === 'revoked' ? (
                  <ChangeButton
                    name={MACS_TEXTS.restore}
                    action={action}
                    change={() => call(restoreDevice, { id })}
                  />
                ) : (
                  <ChangeButton
                    name={MACS_TEXTS.revoke}
                    action={action}
                    change={() => call(revokeDevice, { id })}
                    warning={MACS_TEXTS.revokeWarning}
                  />
                )}
              </div>
            </td>
          </TableRow>
        ))}
      </tbody>
    </table>
  );
}

function NewLicense({ onCreated }: { readonly onCreated: () => void }) {
  const action = useAction();
  const key = useSignal<string | undefined>(undefined);

  async function submit(event: SubmitEvent): Promise<void> {
    const form = event.currentTarget as HTMLFormElement;
    const { label = '', maxSeats } = fieldsOf(event);
    const isCreated = await action.run(async () => {
      key.value = (await call(createLicense, { label, maxSeats: Number(maxSeats) })).key;
    });
    if (!isCreated) return;
    form.reset();
    onCreated();
  }

  return (
    <form class="card form" onSubmit={(event) => void submit(event)}>
      <h2>{MACS_TEXTS.newLicense}</h2>
      <div class="fields">
        <label>
          {MACS_TEXTS.label}
          <input name="label" required maxLength={200} />
        </label>
        <label>
          {MACS_TEXTS.seats}
          <input name="maxSeats" type="number" class="number" required min={1} defaultValue="1" />
        </label>
        <button type="submit" class="main-button" disabled={isReadOnly()}>
          {MACS_TEXTS.create}
        </button>
      </div>
      <Problem text={action.problem.value} />
      {key.value !== undefined && (
        <CopyField label={MACS_TEXTS.newLicense} value={key.value} hint={MACS_TEXTS.keyOnce} />
      )}
    </form>
  );
}
