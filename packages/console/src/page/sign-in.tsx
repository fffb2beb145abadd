import { useSignal } from '@preact/signals';

import { notice, signIn } from './session.ts';

export function SignIn() {
  const problem = useSignal<string | undefined>(undefined);

  async function submit(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    const token = new FormData(event.currentTarget as HTMLFormElement).get('token');
    try {
      await signIn(typeof token === 'string' ? token.trim() : '');
    } catch (error) {
      problem.value = error instanceof Error ? error.message : String(error);
    }
  }

  return (
    <form class="sign-in card" onSubmit={(event) => void submit(event)}>
      <h1>Sign in to the console</h1>
      {notice.value !== undefined && <p role="status">{notice.value}</p>}
      <label for="token">Operator token</label>
      <input
        id="token"
        name="token"
        type="password"
        autocomplete="current-password"
        required
        aria-describedby="token-hint"
      />
      <p id="token-hint" class="hint">
        It is in OPERATOR_TOKEN, or in the file operator-token of the data folder.
      </p>
      {problem.value !== undefined && (
        <p class="problem" role="alert">
          {problem.value}
        </p>
      )}
      <button type="submit" class="main-button">
        Sign in
      </button>
    </form>
  );
}
