// The functions in use; the package has no types.
declare module 'sodium-native' {
  const sodium: {
    crypto_core_ed25519_is_valid_point(point: Uint8Array): boolean;
    crypto_sign_verify_detached(signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array): boolean;
    crypto_aead_chacha20poly1305_ietf_encrypt_detached(
      data: Uint8Array,
      tag: Uint8Array,
      plain: Uint8Array,
      alongside: null,
      unused: null,
      nonce: Uint8Array,
      key: Uint8Array,
    ): void;
    /** Throws when the tag is not right. */
    crypto_aead_chacha20poly1305_ietf_decrypt_detached(
      plain: Uint8Array,
      unused: null,
      data: Uint8Array,
      tag: Uint8Array,
      alongside: null,
      nonce: Uint8Array,
      key: Uint8Array,
    ): void;
  };
  export default sodium;
}
