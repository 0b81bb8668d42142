// The messages between the engine and its image thread.
import type { WireError } from '../../../core/base/errors.ts'
import type { Pixels } from '../../../core/formats/pixels.ts'
import type { CutPicture, CutRules } from '../../../core/vision/cut-picture.ts'

export interface PictureRequest {
  /** A file, or its pixels. */
  readonly picture: Uint8Array | Pixels
  readonly rules: CutRules
}

/** `reason`: the message of any error that is not a HalfbyteError. */
export type PictureReply =
  | { readonly type: 'cut'; readonly cut: CutPicture }
  | { readonly type: 'failed'; readonly error: WireError }
  | { readonly type: 'damaged'; readonly reason: string }
