/** The step at which the signature of a webhook was rejected, in the order of the checks. */
export type SignatureStep = 'header' | 'base64' | 'length' | 'location' | 'key';

/** The meaning of each rejection, and what to do about it. */
export const SIGNATURE_STEPS: Readonly<Record<SignatureStep, { meaning: string; advice: string }>> = {
  header: {
    meaning:
      'The request had no signature: it had none of the headers of the registered keys, or the header was "N/A".',
    advice:
      'If these requests come from your CRM, check which header it signs with and register its key for that header.',
  },
  base64: {
    meaning: 'The signature is not strict base64.',
    advice: 'Test a signed sample: the result names the character or the encoding that is wrong.',
  },
  length: {
    meaning: 'The signature does not have the length of any key of this header.',
    advice:
      'The key of this header is of a different type from the one that signs. Register the key that signs.',
  },
  location: {
    meaning: 'Every key that could have signed is limited to other locations.',
    advice: 'Add a key for this location, or one for all locations.',
  },
  key: {
    meaning: 'No enabled key of this header verifies the signature.',
    advice:
      'The key may be missing or disabled, or the body was changed after it was signed. Test a signed sample to find out which.',
  },
};
