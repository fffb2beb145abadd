/** Why tokens are unreadable, and what to do. */
export const UNREADABLE_TOKENS = {
  sentence: 'The tokens were encrypted with a key that is not in CRM_OAUTH_ENCRYPTION_KEY.',
  actions: {
    grant:
      'Add the former key after the present one in CRM_OAUTH_ENCRYPTION_KEY and restart the service. If it is lost, install the app again.',
    private:
      'Add the former key after the present one in CRM_OAUTH_ENCRYPTION_KEY and restart the service. If it is lost, set the private integration token again.',
  },
} as const;
