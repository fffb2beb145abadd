/** The part of vitest's JSON report that is used here. */
export interface Report {
  /** Milliseconds since 1970. */
  readonly startTime: number;
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly title: string; readonly status: string }[];
  }[];
}

/** Clause → title. */
export type Clauses = Readonly<Record<string, string>>;

export interface ContractTable {
  readonly lines: readonly string[];
  /** The faults: a failing clause, a clause without tests, a test of an unknown clause. */
  readonly faults: readonly string[];
}

interface Count {
  passed: number;
  failed: number;
}

/**
 * The contract's clauses with the tests that hold them. In a partial run a clause without tests was not run; in a
 * complete one it is missing, which is a fault unless the clause is listed as open.
 */
export function contractTable(
  clauses: Clauses,
  open: ReadonlySet<string>,
  report: Report,
  partial: boolean,
): ContractTable {
  const counts = new Map<string, Count>();
  const faults: string[] = [];
  for (const { clause, title, status } of clauseTests(clauses, report)) {
    if (!(clause in clauses)) faults.push(`a test names clause ${clause}, which does not exist: ${title}`);
    const count = counts.get(clause) ?? { passed: 0, failed: 0 };
    if (status === 'passed') count.passed++;
    else if (status === 'failed') count.failed++;
    counts.set(clause, count);
  }
  const lines = Object.entries(clauses).map(([clause, about]) => {
    const { passed, failed } = counts.get(clause) ?? { passed: 0, failed: 0 };
    const untested = open.has(clause) ? 'open' : partial ? 'not run' : 'MISSING';
    const state = failed > 0 ? 'FAIL' : passed > 0 ? 'pass' : untested;
    if (state === 'FAIL') faults.push(`${clause} has a failing test`);
    if (state === 'MISSING') faults.push(`${clause} has no passing test`);
    if (state === 'pass' && open.has(clause))
      faults.push(`${clause} has passing tests: remove it from the open clauses`);
    return `${clause.padEnd(4)} ${state.padEnd(8)} ${String(passed).padStart(4)} tests  ${about}`;
  });
  return { lines, faults };
}

/** Tests whose title starts with a clause of one of the contract's chapters. */
function clauseTests(clauses: Clauses, report: Report) {
  const chapters = new Set(Object.keys(clauses).map((clause) => clause.charAt(0)));
  const title = new RegExp(`^([${[...chapters].join('')}]\\d{1,2})\\b`);
  return report.testResults
    .flatMap((file) => file.assertionResults)
    .flatMap((test) => {
      const clause = title.exec(test.title)?.[1];
      return clause === undefined ? [] : [{ clause, ...test }];
    });
}
