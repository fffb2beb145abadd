declare module '@audio/decode-amr' {
  export default function decode(
    file: Uint8Array,
  ): Promise<{ channelData: Float32Array[]; sampleRate: number }>;
}
