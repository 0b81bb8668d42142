// Marks that stand for images in the text of a prompt: an image's key between two noncharacters, which
// neither users' text nor templates contain.

const OPEN = '\uFDD2'
const CLOSE = '\uFDD3'
const MARK = new RegExp(`${OPEN}([0-9a-f]{64})${CLOSE}`)

/** The object replacement character, which stands for the next image in a message's text. */
export const PICTURE_PLACE = '\uFFFC'

/** More images than any context can hold. */
export const MAX_PICTURES = 1e4

/** `key`: a SHA-256 in hexadecimal digits. */
export const pictureMark = (key: string): string => OPEN + key + CLOSE

/**
 * A message's text with `marks` in the places of its images. Images without a position come first, on
 * separate lines.
 */
export function pictureKeys(content: string, marks: readonly string[]): string {
  const pieces = content.split(PICTURE_PLACE)
  const placed = Math.min(pieces.length - 1, marks.length)
  const before = marks.slice(0, marks.length - placed)
  const rest = marks.slice(marks.length - placed)
  const text = pieces.reduce((all, piece, index) => all + (rest[index - 1] ?? PICTURE_PLACE) + piece)
  return [...before, text].join('\n')
}

/** A text, and the key of the image after it. */
interface PictureSplit {
  readonly plain: string
  readonly key?: string | undefined
}

/** The parts of a text between the marks of known images. Other marks are text. */
export function splitAtPictures(text: string, isKnown: (key: string) => boolean): PictureSplit[] {
  const pieces = text.split(MARK)
  const parts: PictureSplit[] = []
  let plain = ''
  for (let index = 0; index < pieces.length; index += 2) {
    plain += pieces[index]!
    const key = pieces[index + 1]
    if (key === undefined) continue
    if (isKnown(key)) {
      parts.push({ plain, key })
      plain = ''
    } else plain += pictureMark(key)
  }
  return [...parts, { plain }]
}
