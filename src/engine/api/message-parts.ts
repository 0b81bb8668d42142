// Joins the parts of a message, for adapters whose messages are lists of texts and images.
import { PICTURE_PLACE } from '../chat/picture-marks.ts'
import type { Message, PictureSource } from './types.ts'

/**
 * The texts, with a placeholder for each image, and the images in order. Without images, `images` is absent.
 */
export function joinParts(parts: readonly (string | PictureSource)[]): Pick<Message, 'content' | 'images'> {
  const images = parts.filter((part) => typeof part !== 'string')
  const content = parts.map((part) => (typeof part === 'string' ? part : PICTURE_PLACE)).join('')
  return { content, ...(images.length > 0 && { images }) }
}
