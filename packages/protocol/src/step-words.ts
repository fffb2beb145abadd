/** The steps of a message in words, for the operator. */
export const STEP_WORDS: Readonly<Record<string, string>> = {
  accepted: 'accepted',
  rejected: 'rejected',
  written: "written to the Mac's socket",
  not_connected: 'no Mac connected',
  status_sent: 'status sent to the CRM',
  no_token: 'not sent to the CRM: the location has no token',
  crm_refused: 'not accepted by the CRM',
  mac_reported: 'status received from the Mac',
  received: 'received from the Mac',
  contact_found: 'contact found',
  not_confirmed: 'not confirmed by the Mac',
  crm_accepted: 'accepted by the CRM',
  acknowledged: 'acknowledged to the Mac',
  looked_up: 'response lost, conversation read',
  uncertain: 'uncertain, response lost and conversation not readable',
  parked: 'parked on the Mac',
};

/** The details of a step, as short texts. */
export function stepFacts(detail: Readonly<Record<string, unknown>> | null): string[] {
  return Object.entries(detail ?? {})
    .filter(([, value]) => value !== null && value !== '')
    .map(([name, value]) =>
      name === 'status' || name === 'code' ? String(value) : `${name} ${String(value)}`,
    );
}
