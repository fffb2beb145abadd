import {
  assignLocation,
  createPairingCode,
  listLicenses,
  listLocations,
} from '@footbridge/protocol/operator/accounts';
import type { ResponseOf } from '@footbridge/protocol/operator/call';
import { everyPage } from '@footbridge/protocol/operator/every-page';
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import { CopyField, fieldsOf, isReadOnly, Problem } from '../controls.tsx';
import { follow, hrefOf, route } from '../route.ts';
import { call, serverTime } from '../session.ts';
import { useAction } from '../use-action.ts';
import { useData, useReading } from '../use-data.ts';
import { QrCode } from './qr-code.tsx';

const seatOfText = (license: string) => `The Mac takes a seat of “${license}”.`;
const arrivedText = (name: string) => `The Mac “${name}” is connected.`;
const expiresText = (time: string) => `Expires in ${time}.`;

interface Pairing extends ResponseOf<typeof createPairingCode> {
  /** Connection time of the Mac that was connected for the location before the code was created. */
  readonly connectedBefore: string | undefined;
}

const SECOND_MS = 1000;

/** Creates a pairing code and waits for the Mac. */
export function PairPage() {
  const { value: known } = useData(listLocations, {}, { refresh: true });
  const { value: owners } = useReading(
    'licenses',
    () =>
      everyPage(
        (page) => call(listLicenses, page),
        ({ licenses }) => licenses,
      ),
    { refresh: false },
  );
  const action = useAction();
  const pairing = useSignal<Pairing | undefined>(undefined);
  const wanted = useSignal(route.value.query.get('locationId') ?? '');
  // The form submits the trimmed id, so the license must be looked up by it too.
  const wantedId = wanted.value.trim();
  const isComplete = known.value !== undefined && known.value.next === undefined;
  const wantedRow = useLocation(isComplete ? '' : wantedId);
  const pairedRow = useLocation(isComplete ? '' : (pairing.value?.locationId ?? ''));
  const find = (locationId: string) =>
    [...(known.value?.locations ?? []), ...(wantedRow ?? []), ...(pairedRow ?? [])].find(
      (location) => location.locationId === locationId,
    );
  const licenses = owners.value?.filter(({ status }) => status === 'active') ?? [];
  const wantedLocation = find(wantedId);
  const isClaimed = wantedLocation?.claimed === true && licenses.length > 1;
  const needsLicense =
    wantedId !== '' &&
    known.value !== undefined &&
    wantedRow !== undefined &&
    (isClaimed || (wantedLocation?.licenseId ?? null) === null);

  async function create(locationId: string, licenseId: string | undefined): Promise<void> {
    await action.run(async () => {
      if (licenseId !== undefined) await call(assignLocation, { locationId, licenseId });
      const created = await call(createPairingCode, { locationId });
      pairing.value = { ...created, connectedBefore: find(locationId)?.connected?.since };
    });
  }

  function submit(event: SubmitEvent): void {
    const { locationId = '', licenseId } = fieldsOf(event);
    void create(locationId, licenseId);
  }

  const current = pairing.value;
  const mac = current === undefined ? null : (find(current.locationId)?.connected ?? null);
  const arrived = mac !== null && mac.since !== current?.connectedBefore ? mac : null;
  return (
    <>
      <div class="page-head">
        <h1>Pair a Mac</h1>
        <p class="hint">A pairing code connects one Mac to one location. It works once, within 15 minutes.</p>
      </div>
      <Problem text={action.problem.value} />
      <form class="card form" onSubmit={submit}>
        <label>
          Location id
          <input
            name="locationId"
            list="locations"
            required
            maxLength={256}
            autocomplete="off"
            spellcheck={false}
            value={wanted.value}
            aria-describedby="location-hint"
            onInput={(event) => (wanted.value = event.currentTarget.value)}
          />
        </label>
        <p id="location-hint" class="hint">
          The id of the sub-account in HighLevel.
        </p>
        <datalist id="locations">
          {known.value?.locations.map(({ locationId }) => (
            <option key={locationId} value={locationId} />
          ))}
        </datalist>
        {needsLicense && licenses.length > 0 && (
          <>
            <label>
              License
              <select name="licenseId" aria-describedby="license-hint" required>
                {licenses.length > 1 && <option value="">Choose a license</option>}
                {licenses.map(({ id, label }) => (
                  <option key={id} value={id}>
                    {label}
                  </option>
                ))}
              </select>
            </label>
            <p id="license-hint" class="hint">
              {isClaimed
                ? 'A Mac claimed this location by itself. Choose the license that it belongs to: Macs of other licenses are disconnected.'
                : 'This location has no license yet. The Mac takes a seat of the one you choose.'}
            </p>
          </>
        )}
        <button type="submit" class="main-button" disabled={isReadOnly() || action.isRunning.value}>
          {current === undefined ? 'Create pairing code' : 'Create a new code'}
        </button>
      </form>
      {current !== undefined && <Code key={current.code} pairing={current} arrived={arrived?.name} />}
    </>
  );
}

/** Reads a location that may not be on the first page of the list. Undefined: not read yet. */
function useLocation(locationId: string) {
  const read = async () => (locationId === '' ? [] : (await call(listLocations, { locationId })).locations);
  const { value, of } = useReading(locationId, read, { refresh: true });
  return of.value === locationId ? value.value : undefined;
}

function Code({ pairing, arrived }: { readonly pairing: Pairing; readonly arrived: string | undefined }) {
  const left = useSignal(leftOf(pairing));
  useEffect(() => {
    const timer = setInterval(() => (left.value = leftOf(pairing)), SECOND_MS);
    return () => clearInterval(timer);
  }, []);
  const isOver = left.value <= 0;
  return (
    <section class="card pairing">
      <div class="pairing-words">
        <h2>On the Mac</h2>
        <p class="hint">
          <bdi>{seatOfText(pairing.license)}</bdi>
        </p>
        <CopyField label="Open Terminal and run:" value="npx footbridge-agent@latest setup" />
        {arrived === undefined && !isOver && <CopyField label="Enter this code:" value={pairing.code} />}
        <p role="status" class={arrived === undefined ? 'hint' : 'result result-good'}>
          {arrived !== undefined
            ? arrivedText(arrived)
            : isOver
              ? 'This code has expired.'
              : 'Waiting for the Mac.'}
        </p>
        {arrived === undefined && !isOver && <p class="countdown">{expiresText(minutes(left.value))}</p>}
        {arrived !== undefined && (
          <p>
            <a href={hrefOf('/')} onClick={follow}>
              See whether the tenant can text
            </a>
          </p>
        )}
      </div>
      {arrived === undefined && !isOver && (
        <QrCode text={pairing.code} label="The pairing code as a QR code" />
      )}
    </section>
  );
}

const leftOf = ({ expiresAt }: Pairing): number =>
  Math.max(0, Math.ceil((Date.parse(expiresAt) - serverTime()) / SECOND_MS));

const minutes = (seconds: number): string =>
  `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
