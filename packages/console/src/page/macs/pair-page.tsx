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
import { PAIR_TEXTS } from '../texts.ts';
import { useAction } from '../use-action.ts';
import { useData, useReading } from '../use-data.ts';
import { QrCode } from './qr-code.tsx';

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
        <h1>{PAIR_TEXTS.title}</h1>
        <p class="hint">{PAIR_TEXTS.intro}</p>
      </div>
      <Problem text={action.problem.value} />
      <form class="card form" onSubmit={submit}>
        <label>
          {PAIR_TEXTS.location}
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
          {PAIR_TEXTS.locationHint}
        </p>
        <datalist id="locations">
          {known.value?.locations.map(({ locationId }) => (
            <option key={locationId} value={locationId} />
          ))}
        </datalist>
        {needsLicense && licenses.length > 0 && (
          <>
            <label>
              {PAIR_TEXTS.license}
              <select name="licenseId" aria-describedby="license-hint" required>
                {licenses.length > 1 && <option value="">{PAIR_TEXTS.choose}</option>}
                {licenses.map(({ id, label }) => (
                  <option key={id} value={id}>
                    {label}
                  </option>
                ))}
              </select>
            </label>
            <p id="license-hint" class="hint">
              {isClaimed ? PAIR_TEXTS.claimedHint : PAIR_TEXTS.licenseHint}
            </p>
          </>
        )}
        <button type="submit" class="main-button" disabled={isReadOnly() || action.isRunning.value}>
          {current === undefined ? PAIR_TEXTS.create : PAIR_TEXTS.newCode}
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
        <h2>{PAIR_TEXTS.steps}</h2>
        <p class="hint">
          <bdi>{PAIR_TEXTS.seatOf(pairing.license)}</bdi>
        </p>
        <CopyField label={PAIR_TEXTS.stepOne} value={PAIR_TEXTS.command} />
        {arrived === undefined && !isOver && <CopyField label={PAIR_TEXTS.stepTwo} value={pairing.code} />}
        <p role="status" class={arrived === undefined ? 'hint' : 'result result-good'}>
          {arrived !== undefined
            ? PAIR_TEXTS.arrived(arrived)
            : isOver
              ? PAIR_TEXTS.expired
              : PAIR_TEXTS.waiting}
        </p>
        {arrived === undefined && !isOver && (
          <p class="countdown">{PAIR_TEXTS.expires(minutes(left.value))}</p>
        )}
        {arrived !== undefined && (
          <p>
            <a href={hrefOf('/')} onClick={follow}>
              {PAIR_TEXTS.next}
            </a>
          </p>
        )}
      </div>
      {arrived === undefined && !isOver && <QrCode text={pairing.code} label={PAIR_TEXTS.qr} />}
    </section>
  );
}

const leftOf = ({ expiresAt }: Pairing): number =>
  Math.max(0, Math.ceil((Date.parse(expiresAt) - serverTime()) / SECOND_MS));

const minutes = (seconds: number): string =>
  `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
