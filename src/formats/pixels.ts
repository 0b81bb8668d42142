// A picture as its pixels.

/** A picture: four bytes a pixel (red, green, blue, opacity), row by row from the upper left. */
export interface Pixels {
  readonly width: number
  readonly height: number
  readonly data: Uint8ClampedArray | Uint8Array
}
