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
import { timeText } from '../times.ts';
import { useAction } from '../use-action.ts';
import type { Action } from '../use-action.ts';
import { useData } from '../use-data.ts';
import { LineUsage } from './line-usage.tsx';
import type { Line } from './line-usage.tsx';

const usedText = (used: number, max: number) => `${used} of ${max} seats in use`;

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
        <h1>Macs</h1>
        <a class="main-button" href={hrefOf('/macs/pair')} onClick={follow}>
          Pair a Mac
        </a>
      </div>
      <Problem text={licenses.problem.value ?? action.problem.value} />
      {list?.length === 0 && (
        <p class="hint">There are no licenses yet. Create one: each Mac takes one seat of a license.</p>
      )}
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
        <PageButtons of="Macs" after={devicesAfter} next={devices.value.value?.next} />
        <PageButtons of="licenses" after={licensesAfter} next={licenses.value.value?.next} />
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
        <meter min={0} max={seats.max} value={seats.used} aria-label={usedText(seats.used, seats.max)} />
        {usedText(seats.used, seats.max)}
      </p>
      {status !== 'revoked' && (
        <div class="actions">
          <input
            ref={seatsField}
            type="number"
            class="number"
            aria-label={`Seats: ${label}`}
            min={1}
            defaultValue={String(seats.max)}
          />
          <ChangeButton
            name="Change seats"
            action={action}
            change={() => change({ maxSeats: seatsField.current?.valueAsNumber })}
          />
          {status === 'active' ? (
            <ChangeButton
              name="Suspend"
              action={action}
              change={() => change({ status: 'suspended' })}
              warning="Its Macs stay disconnected until you resume it."
            />
          ) : (
            <ChangeButton name="Resume" action={action} change={() => change({ status: 'active' })} />
          )}
        </div>
      )}
      {devices.length === 0 ? (
        <p class="hint">
          {isComplete ? 'No Mac has taken a seat.' : 'None of its Macs is on this page of the list of Macs.'}
        </p>
      ) : (
        <DeviceTable devices={devices} lines={lines} action={action} />
      )}
    </section>
  );
}

const COLUMNS = ['Mac', 'System', 'Connected for', 'Last seen', 'State'];

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
              {locations.length === 0 && 'not connected'}
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
                  <ChangeButton name="Restore" action={action} change={() => call(restoreDevice, { id })} />
                ) : (
                  <ChangeButton
                    name="Revoke"
                    action={action}
                    change={() => call(revokeDevice, { id })}
                    warning="The Mac is disconnected, its seat becomes free, and it cannot activate again."
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
      <h2>New license</h2>
      <div class="fields">
        <label>
          Name
          <input name="label" required maxLength={200} />
        </label>
        <label>
          Seats
          <input name="maxSeats" type="number" class="number" required min={1} defaultValue="1" />
        </label>
        <button type="submit" class="main-button" disabled={isReadOnly()}>
          Create license
        </button>
      </div>
      <Problem text={action.problem.value} />
      {key.value !== undefined && (
        <CopyField
          label="New license"
          value={key.value}
          hint="The license key is shown only once. You do not need it to pair with a code."
        />
      )}
    </form>
  );
}
