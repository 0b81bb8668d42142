// Reads the files that a user attaches: texts, PDFs, web pages and images. It loads with the first file.
import { HalfbyteError } from '../../../../src/index.ts'
import { bytes } from '../../shell/units.ts'
import { t } from '../../words/later-words.ts'
import { type Attachment, isPicture, type Picture, type TextFile } from './attachments.ts'

/** Maximum bytes of one text. A model reads passages of texts that exceed its context. */
export const MOST_BYTES = 1e6
/** Maximum bytes of one image, which is stored unchanged, and of one PDF. */
export const MOST_HEAVY_BYTES = 20e6
/** Maximum number of files in one message. */
export const MOST_FILES = 8

/** The attachments, and a note for the user. */
interface ReadFiles {
  readonly attachments: readonly Attachment[]
  /** A sentence. Empty if there is nothing to say. */
  readonly note: string
}

/** SVG is text, which models understand. */
const isPictureFile = ({ type }: File): boolean => type.startsWith('image/') && !type.startsWith('image/svg')

/**
 * Reads files in addition to the `taken` ones of the same message. `isBlind`: the model has no vision tower.
 * Throws `unsupported` for a file that is too large, too many files, or an image for a blind model, and
 * `format` for a file that is not UTF-8 text, a PDF with text, or an image that the browser decodes. The
 * messages are for users.
 */
export async function readFiles(files: readonly File[], taken: number, isBlind: boolean): Promise<ReadFiles> {
  const count = files.length + taken
  if (count > MOST_FILES) {
    throw new HalfbyteError('unsupported', t('tooMany', { most: MOST_FILES, count }), {
      count,
      most: MOST_FILES,
    })
  }
  const picture = files.find(isPictureFile)
  if (isBlind && picture !== undefined) {
    throw new HalfbyteError('unsupported', t('blind', { name: picture.name }))
  }
  const attachments = await Promise.all(
    files.map((file) => (isPictureFile(file) ? readPicture(file) : readText(file))),
  )
  const moving = await Promise.all(attachments.filter(isPicture).map(({ file }) => isAnimated(file)))
  return { attachments, note: moving.includes(true) ? t('moving') : '' }
}

async function readText(file: File): Promise<TextFile> {
  const name = plainName(file)
  if (file.type === 'application/pdf' || /\.pdf$/i.test(name)) {
    checkSize(file, MOST_HEAVY_BYTES, 'tooHeavy')
    const { pdfText } = await import('./pdf-text.ts')
    return { name, text: await pdfText(name, await file.arrayBuffer()) }
  }
  checkSize(file, MOST_BYTES, 'tooLong')
  const text = decode(await file.arrayBuffer())
  if (text === undefined) throw new HalfbyteError('format', t('noText', { name }))
  if (file.type === 'text/html' || /\.html?$/i.test(name)) {
    const { htmlText } = await import('./html-text.ts')
    return { name, text: htmlText(text) }
  }
  return { name, text: text.replaceAll('\r\n', '\n').trimEnd() }
}

async function readPicture(file: File): Promise<Picture> {
  const { pictureOf } = await import('../../../../src/ui/chat/picture-files.ts')
  const read = await pictureOf(file)
  if ('file' in read) return read
  if (read.reason === 'large') throw tooLarge('tooHeavy', read)
  const cause = 'cause' in read ? read.cause : undefined
  throw new HalfbyteError('format', t('noPicture', { name: plainName(file) }), { type: file.type }, { cause })
}

function checkSize({ name, size }: File, most: number, sentence: 'tooLong' | 'tooHeavy'): void {
  if (size <= most) return
  throw tooLarge(sentence, { name, size, most })
}

function tooLarge(
  sentence: 'tooLong' | 'tooHeavy',
  { name, size, most }: { readonly name: string; readonly size: number; readonly most: number },
): HalfbyteError {
  const text = t(sentence, { name, size: bytes(size), most: bytes(most) })
  return new HalfbyteError('unsupported', text, { size, most })
}

/** If the browser cannot tell, there is no note. */
async function isAnimated(file: Blob): Promise<boolean> {
  if (!('ImageDecoder' in globalThis)) return false
  const decoder = new ImageDecoder({ data: await file.arrayBuffer(), type: file.type })
  try {
    await decoder.tracks.ready
    return decoder.tracks.selectedTrack?.animated === true
  } catch {
    return false
  } finally {
    decoder.close()
  }
}

/** On one line, so that a message can quote it. */
const plainName = ({ name }: File): string => name.replaceAll(/\s+/g, ' ')

/** Undefined for bytes that are not UTF-8, or contain characters that do not occur in text. */
function decode(content: ArrayBuffer): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(content)
    return text.includes('\0') ? undefined : text
  } catch {
    return undefined
  }
}
