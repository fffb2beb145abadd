// The one function that tests compare with; the package brings no types.
declare module 'sodium-native' {
  const sodium: {
    crypto_sign_verify_detached(signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array): boolean;
  };
  export default sodium;
}
