import { useEffect, useRef, useState } from 'preact/hooks';

import { moveInside } from '../chat/move-inside.ts';
import { Icon } from '../icons.tsx';
import { chosen, results, runAll, runBreak, running, switches, tally } from './running.ts';

/** Thirteen ways to break it: the promise before, the result after. */
export function BreaksPane() {
  const one = switches.value[chosen.value];
  const { tried, held } = tally.value;
  return (
    <div class="breaks">
      <div class="breaks-list" role="group" aria-label="What to break" onKeyDown={onKeyDown}>
        {switches.value.map(({ id, title }, index) => (
          <button
            key={id}
            type="button"
            class={`switch-chip ${stateOf(id)}`}
            aria-pressed={index === chosen.value}
            tabIndex={index === chosen.value ? 0 : -1}
            onClick={() => (chosen.value = index)}
            onFocus={() => running.value === undefined && (chosen.value = index)}
          >
            <Sign id={id} />
            {title}
          </button>
        ))}
      </div>
      {one !== undefined && (
        <div class="breaks-card">
          <div class="breaks-words">
            <p class="breaks-promise">
              <strong>The promise</strong> {one.promise}
            </p>
            <div class="breaks-result" aria-live="polite">
              <ResultLine id={one.id} />
            </div>
          </div>
          <div class="breaks-actions">
            <button
              type="button"
              class="break-button"
              disabled={running.value !== undefined}
              onClick={() => void runBreak(one.id)}
            >
              <Icon name="bolt" />
              {running.value === one.id ? 'Breaking…' : results.value.has(one.id) ? 'Again' : 'Break it'}
            </button>
            <button
              type="button"
              class="text-button"
              disabled={running.value !== undefined}
              onClick={() => void runAll()}
            >
              {tried === 0 ? `All ${switches.value.length}, one by one` : `${held} of ${tried} held · all`}
            </button>
          </div>
        </div>
      )}
    </div>
  );
}

function onKeyDown(event: KeyboardEvent): void {
  if (moveInside(event)) event.preventDefault();
}

function stateOf(id: string): string {
  if (running.value === id) return 'is-running';
  const result = results.value.get(id);
  return result === undefined ? '' : result.held ? 'is-held' : 'is-broken';
}

function Sign({ id }: { id: string }) {
  if (running.value === id) return <span class="spinner" aria-hidden="true" />;
  const result = results.value.get(id);
  if (result === undefined) return <span class="switch-dot" aria-hidden="true" />;
  return (
    <>
      <Icon name={result.held ? 'check' : 'cross'} />
      <span class="unseen">{result.held ? 'held: ' : 'broken: '}</span>
    </>
  );
}

function ResultLine({ id }: { id: string }) {
  const result = results.value.get(id);
  if (running.value === id) return <Elapsed />;
  if (result === undefined) return <span class="breaks-waiting">Press the button and watch the panes.</span>;
  return (
    <span class={result.held ? 'breaks-verdict is-held' : 'breaks-verdict is-broken'}>
      <Icon name={result.held ? 'check' : 'cross'} />
      <span>
        <strong>{result.held ? 'Held' : 'Broken'}</strong> <bdi>{result.result}</bdi>{' '}
        <span class="breaks-took">({(result.ms / 1000).toFixed(1)} s)</span>
      </span>
    </span>
  );
}

/** Seconds on the screen only: a screen reader hears that it began and how it ended. */
function Elapsed() {
  const started = useRef(performance.now());
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setSeconds((performance.now() - started.current) / 1000), 100);
    return () => clearInterval(timer);
  }, []);
  return (
    <span class="breaks-verdict is-running">
      <span class="spinner" aria-hidden="true" />
      <span>
        Breaking it <span aria-hidden="true">{seconds.toFixed(1)} s</span>
      </span>
    </span>
  );
}
