/** The person at the terminal, who confirms what only the user interface of the CRM shows. */
export interface Person {
  /** Resolves with undefined when no person is present. */
  confirm(question: string): Promise<boolean | undefined>;
  readonly isPresent: boolean;
}
