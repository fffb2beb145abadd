declare module '@jsquash/webp/decode.js' {
  export function init(options: { wasmBinary: Uint8Array }): Promise<void>;
  export default function decode(
    file: Uint8Array,
  ): Promise<{ data: Uint8ClampedArray; width: number; height: number }>;
}
