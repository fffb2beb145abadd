declare module 'gifenc/dist/gifenc.esm.js' {
  type Palette = [red: number, green: number, blue: number][];

  interface Encoder {
    writeHeader(): void;
    writeFrame(
      index: Uint8Array,
      width: number,
      height: number,
      options: {
        first: boolean;
        palette: Palette;
        transparent: boolean;
        transparentIndex: number;
        delay: number;
        dispose: number;
        repeat: number;
      },
    ): void;
    finish(): void;
    bytesView(): Uint8Array;
    readonly stream: { reset(): void };
  }

  export function GIFEncoder(options: { auto: boolean }): Encoder;
  export function quantize(rgba: Uint8Array, colours: number, options: { format: 'rgb565' }): Palette;
  export function applyPalette(rgba: Uint8Array, palette: Palette, format: 'rgb565'): Uint8Array;
}
