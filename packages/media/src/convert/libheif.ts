import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import createLibheif from 'libheif-js/libheif-wasm/libheif.js';
import type { Libheif } from 'libheif-js/libheif-wasm/libheif.js';

import { MAX_PIXELS, ConversionError } from './budget.ts';
import { compiledOnce, withMemoryBound, withStackPointer } from './wasm-program.ts';

/** Enough for an untiled photo of 13 megapixels; a tiled one needs a tenth of it. */
const MEMORY_BYTES = 144 * 1024 * 1024;
const STACK_BYTES = 1024 * 1024;

// Values of libheif's C API. Its JavaScript API has neither tiles nor tracks.
const COLOURSPACE_RGB = 1;
const CHROMA = { rgb: 10, rgba: 11 } as const;
const INTERLEAVED = 10;
const ERROR_DECODER = 7;
const ERROR_END_OF_SEQUENCE = 13;
const PROFILE_TYPES = new Set(['rICC', 'prof']);

export type Layout = keyof typeof CHROMA;

/** Pixels in the decoder's memory, valid until the next call of a decode method. */
export interface HeifPixels {
  width: number;
  height: number;
  isPremultiplied: boolean;
  row(index: number): Uint8Array;
}

export interface Tiling {
  columns: number;
  rows: number;
  tileWidth: number;
  tileHeight: number;
  /** How far the first tiles overlap the upper and left edge of the image, which happens when it is rotated. */
  top: number;
  left: number;
}

/** A HEIF file in a decoder instance of its own; garbage collection frees both. */
export class HeifFile {
  readonly #heif: Libheif = startLibheif();
  readonly #context: number;
  /** Buffers for the error that each call returns (code, subcode, text) and for one result of up to 80 bytes. */
  readonly #error: number;
  readonly #result: number;
  #image = 0;

  constructor(file: Buffer) {
    const heif = this.#heif;
    this.#error = heif._malloc(16);
    this.#result = heif._malloc(80);
    this.#context = heif._heif_context_alloc();
    const bytes = heif._malloc(file.length);
    if (bytes === 0) throw new ConversionError('the image is too large');
    heif.HEAPU8.set(file, bytes);
    // The second field of the limits, 64 bits wide: pixels of any image in the file, hidden ones included.
    heif.HEAPU32[(heif._heif_context_get_security_limits(this.#context) + 8) >> 2] = MAX_PIXELS;
    heif._heif_context_read_from_memory_without_copy(this.#error, this.#context, bytes, file.length, 0);
    this.#check();
  }

  primary(): HeifImage {
    this.#heif._heif_context_get_primary_image_handle(this.#error, this.#context, this.#result);
    this.#check();
    const handle = this.#pointer();
    const heif = this.#heif;
    return {
      handle,
      width: heif._heif_image_handle_get_width(handle),
      height: heif._heif_image_handle_get_height(handle),
      hasAlpha: heif._heif_image_handle_has_alpha_channel(handle) === 1,
    };
  }

  decode(image: HeifImage, layout: Layout): HeifPixels {
    this.#release();
    this.#heif._heif_decode_image(
      this.#error,
      image.handle,
      this.#result,
      COLOURSPACE_RGB,
      CHROMA[layout],
      0,
    );
    this.#check();
    return this.#pixels();
  }

  /** Returns the tiles of the image after rotation and mirroring; undefined when it is not tiled, or is cropped. */
  tiling(image: HeifImage): Tiling | undefined {
    this.#heif._heif_image_handle_get_image_tiling(this.#error, image.handle, 1, this.#result);
    this.#check();
    const fields = this.#heif.HEAPU32.subarray(this.#result >> 2, (this.#result >> 2) + 9);
    const [, columns = 0, rows = 0, tileWidth = 0, tileHeight = 0, width, height, top, left] = fields;
    if (columns * rows <= 1 || width !== image.width || height !== image.height) return undefined;
    // Tiles overlap one side of each axis; libheif reports the right side, but not by how much.
    return {
      columns,
      rows,
      tileWidth,
      tileHeight,
      top: top === 0 ? 0 : rows * tileHeight - image.height,
      left: left === 0 ? 0 : columns * tileWidth - image.width,
    };
  }

  decodeTile(image: HeifImage, column: number, row: number): HeifPixels {
    this.#release();
    this.#heif._heif_image_handle_decode_image_tile(
      this.#error,
      image.handle,
      this.#result,
      COLOURSPACE_RGB,
      CHROMA.rgb,
      0,
      column,
      row,
    );
    this.#check();
    return this.#pixels();
  }

  /** Returns the ICC profile that the camera embedded. */
  profile(image: HeifImage): Buffer | undefined {
    const heif = this.#heif;
    const type = heif._heif_image_handle_get_color_profile_type(image.handle);
    const name = String.fromCharCode(type >>> 24, (type >> 16) & 255, (type >> 8) & 255, type & 255);
    if (!PROFILE_TYPES.has(name)) return undefined;
    const size = heif._heif_image_handle_get_raw_color_profile_size(image.handle);
    const bytes = heif._malloc(size);
    heif._heif_image_handle_get_raw_color_profile(this.#error, image.handle, bytes);
    this.#check();
    return Buffer.from(heif.HEAPU8.slice(bytes, bytes + size));
  }

  /**
   * Decodes the frames of a track in order, as RGBA. The last ones may be missing: when frames are stored in another
   * order than they are shown, libheif drops those that it still holds at the end.
   */
  *track(id: number): Generator<HeifPixels> {
    const heif = this.#heif;
    const track = heif._heif_context_get_track(this.#context, id);
    if (track === 0) throw new ConversionError('the animation is damaged');
    for (let isFirst = true; ; isFirst = false) {
      this.#release();
      heif._heif_track_decode_next_image(this.#error, track, this.#result, COLOURSPACE_RGB, CHROMA.rgba, 0);
      const error = heif.HEAPU32[this.#error >> 2];
      if (error === ERROR_END_OF_SEQUENCE || (error === ERROR_DECODER && !isFirst)) return;
      this.#check();
      yield this.#pixels();
    }
  }

  #pixels(): HeifPixels {
    const heif = this.#heif;
    this.#image = this.#pointer();
    const width = heif._heif_image_get_width(this.#image, INTERLEAVED);
    const height = heif._heif_image_get_height(this.#image, INTERLEAVED);
    const start = heif._heif_image_get_plane_readonly(this.#image, INTERLEAVED, this.#result);
    const stride = this.#pointer();
    const bytes = (heif._heif_image_get_chroma_format(this.#image) === CHROMA.rgba ? 4 : 3) * width;
    return {
      width,
      height,
      isPremultiplied: heif._heif_image_is_premultiplied_alpha(this.#image) === 1,
      row: (index) => heif.HEAPU8.subarray(start + index * stride, start + index * stride + bytes),
    };
  }

  #release(): void {
    if (this.#image !== 0) this.#heif._heif_image_release(this.#image);
    this.#image = 0;
  }

  #pointer(): number {
    return this.#heif.HEAPU32[this.#result >> 2] ?? 0;
  }

  #check(): void {
    const heif = this.#heif;
    if (heif.HEAPU32[this.#error >> 2] === 0) return;
    const text = heif.HEAPU32[(this.#error >> 2) + 2] ?? 0;
    const message = heif.HEAPU8.subarray(text, heif.HEAPU8.indexOf(0, text));
    throw new ConversionError(`the image cannot be read: ${Buffer.from(message).toString('latin1').trim()}`);
  }
}

const libheifModule = compiledOnce(() => {
  const path = createRequire(import.meta.url).resolve('libheif-js/libheif-wasm/libheif.wasm');
  return withStackPointer(withMemoryBound(readFileSync(path), MEMORY_BYTES), 'stackPointer');
});

/**
 * libheif is compiled with a stack of 64 KiB, which overflows into its data when a frame is predicted from others, as in
 * any animation. So it gets a larger stack, from its own heap, before its first call.
 */
function startLibheif(): Libheif {
  let stackPointer: unknown;
  const heif = createLibheif({
    instantiateWasm(imports, ready) {
      const instance = new WebAssembly.Instance(libheifModule(), imports);
      ({ stackPointer } = instance.exports);
      ready(instance);
      return instance.exports;
    },
  });
  if (!(stackPointer instanceof WebAssembly.Global))
    throw new Error('libheif does not export its stack pointer');
  // The stack grows downwards from an address aligned to 16.
  stackPointer.value = (heif._malloc(STACK_BYTES) + STACK_BYTES) & ~15;
  return heif;
}

export interface HeifImage {
  readonly handle: number;
  readonly width: number;
  readonly height: number;
  readonly hasAlpha: boolean;
}
