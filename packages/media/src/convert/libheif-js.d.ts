/** The part of libheif's C API that is used here, as Emscripten exports it: pointers and numbers. */
declare module 'libheif-js/libheif-wasm/libheif.js' {
  export interface Libheif {
    readonly HEAPU8: Uint8Array;
    readonly HEAPU32: Uint32Array;
    _malloc(bytes: number): number;
    _heif_context_alloc(): number;
    _heif_context_get_security_limits(context: number): number;
    _heif_context_read_from_memory_without_copy(
      error: number,
      context: number,
      bytes: number,
      length: number,
      options: number,
    ): void;
    _heif_context_get_primary_image_handle(error: number, context: number, result: number): void;
    _heif_image_handle_get_width(handle: number): number;
    _heif_image_handle_get_height(handle: number): number;
    _heif_image_handle_has_alpha_channel(handle: number): number;
    _heif_image_handle_get_color_profile_type(handle: number): number;
    _heif_image_handle_get_raw_color_profile_size(handle: number): number;
    _heif_image_handle_get_raw_color_profile(error: number, handle: number, bytes: number): void;
    _heif_image_handle_get_image_tiling(
      error: number,
      handle: number,
      processTransformations: number,
      result: number,
    ): void;
    _heif_image_handle_decode_image_tile(
      error: number,
      handle: number,
      result: number,
      colourspace: number,
      chroma: number,
      options: number,
      column: number,
      row: number,
    ): void;
    _heif_decode_image(
      error: number,
      handle: number,
      result: number,
      colourspace: number,
      chroma: number,
      options: number,
    ): void;
    _heif_context_get_track(context: number, id: number): number;
    _heif_track_decode_next_image(
      error: number,
      track: number,
      result: number,
      colourspace: number,
      chroma: number,
      options: number,
    ): void;
    _heif_image_get_width(image: number, channel: number): number;
    _heif_image_get_height(image: number, channel: number): number;
    _heif_image_get_chroma_format(image: number): number;
    _heif_image_get_plane_readonly(image: number, channel: number, stride: number): number;
    _heif_image_is_premultiplied_alpha(image: number): number;
    _heif_image_release(image: number): void;
  }

  export default function createLibheif(options: {
    instantiateWasm(imports: object, ready: (instance: WebAssembly.Instance) => void): unknown;
  }): Libheif;
}
