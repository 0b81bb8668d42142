// The image worker in Node: decodes and crops one image.
import { parentPort } from 'node:worker_threads'
import { isHalfbyteError, reasonOf } from '../../../core/base/errors.ts'
import { cutPicture } from '../../../core/vision/cut-picture.ts'
import { decodePicture } from '../../../engine/load/vision/decode-picture.ts'
import type { PictureReply, PictureRequest } from './picture-messages.ts'

const post = (reply: PictureReply, transfer: ArrayBuffer[] = []): void =>
  parentPort?.postMessage(reply, transfer)

parentPort?.on('message', ({ picture, rules }: PictureRequest) => {
  try {
    const cut = cutPicture(rules, picture instanceof Uint8Array ? decodePicture(picture) : picture)
    post({ type: 'cut', cut }, [...new Set(cut.tiles.map(({ data }) => data.buffer as ArrayBuffer))])
  } catch (cause) {
    if (isHalfbyteError(cause)) post({ type: 'failed', error: cause.toWire() })
    else post({ type: 'damaged', reason: reasonOf(cause) })
  }
})
