import { useEffect, useState } from 'preact/hooks';

import { moveInside } from '../chat/move-inside.ts';
import { Icon } from '@footbridge/ui/icons';
import { chosen, resultOf, runAll, runScenario, running, scenarios, summary } from './running.ts';

/** The failure scenarios, each with its guarantee and its result. */
export function ScenariosPane() {
  const scenario = scenarios.value[chosen.value];
  const { run, passed } = summary.value;
  return (
    <div class="breaks">
      <div class="breaks-list" role="group" aria-label="Failure scenarios" onKeyDown={onKeyDown}>
        {scenarios.value.map(({ id, title }, index) => (
          <button
            key={id}
            type="button"
            class={`switch-chip ${stateOf(id)}`}
            aria-pressed={index === chosen.value}
            tabIndex={index === chosen.value ? 0 : -1}
            onClick={() => (chosen.value = index)}
            onFocus={() => running.value === undefined && (chosen.value = index)}
          >
            <ResultIcon id={id} />
            {title}
          </button>
        ))}
      </div>
      {scenario !== undefined && (
        <div class="breaks-card">
          <div class="breaks-words">
            <p class="breaks-promise">
              <strong>Guarantee</strong> {scenario.promise}
            </p>
            <div class="breaks-result" aria-live="polite">
              <ResultLine id={scenario.id} />
            </div>
          </div>
          <div class="breaks-actions">
            <button
              type="button"
              class="break-button"
              disabled={running.value !== undefined}
              onClick={() => void runScenario(scenario.id)}
            >
              <Icon name="bolt" />
              {running.value?.id === scenario.id
                ? 'Running…'
                : resultOf(scenario.id) !== undefined
                  ? 'Run again'
                  : 'Break it'}
            </button>
            <button
              type="button"
              class="text-button"
              disabled={running.value !== undefined}
              onClick={() => void runAll()}
            >
              {run === 0 ? `Run all ${scenarios.value.length}` : `Run all · ${passed}/${run} passed`}
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
  if (running.value?.id === id) return 'is-running';
  const result = resultOf(id);
  return result === undefined ? '' : result.held ? 'is-held' : 'is-broken';
}

function ResultIcon({ id }: { id: string }) {
  if (running.value?.id === id) return <span class="spinner" aria-hidden="true" />;
  const result = resultOf(id);
  if (result === undefined) return <span class="switch-dot" aria-hidden="true" />;
  return (
    <>
      <Icon name={result.held ? 'check' : 'cross'} />
      <span class="visually-hidden">{result.held ? 'passed: ' : 'failed: '}</span>
    </>
  );
}

function ResultLine({ id }: { id: string }) {
  const result = resultOf(id);
  if (running.value?.id === id) return <Elapsed since={running.value.startedAt} />;
  if (result === undefined)
    return <span class="breaks-waiting">Click “Break it” and watch the other panes.</span>;
  return (
    <span class={result.held ? 'breaks-verdict is-held' : 'breaks-verdict is-broken'}>
      <Icon name={result.held ? 'check' : 'cross'} />
      <span>
        <strong>{result.held ? 'Passed' : 'Failed'}</strong> <bdi>{result.result}</bdi>{' '}
        <span class="breaks-took">({(result.ms / 1000).toFixed(1)} s)</span>
      </span>
    </span>
  );
}

/** The seconds are hidden from screen readers, which announce only the start and the result. */
function Elapsed({ since }: { since: number }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 100);
    return () => clearInterval(timer);
  }, []);
  return (
    <span class="breaks-verdict is-running">
      <span class="spinner" aria-hidden="true" />
      <span>
        Running <span aria-hidden="true">{(Math.max(0, now - since) / 1000).toFixed(1)} s</span>
      </span>
    </span>
  );
}
