// Reads the files that a user attaches: documents and images. It loads with the first file.
import { HalfbyteError, isHalfbyteError } from '../../../../src/index.ts'
import { startPdfWorker } from '../../../../src/ui/chat/library.ts'
import { documentSentence } from '../../../../src/ui/documents/document-error.ts'
import { MAX_DOCUMENTS } from '../../../../src/ui/documents/kinds.ts'
import { readDocument } from '../../../../src/ui/documents/read-file.ts'
import { bytes } from '../../shell/units.ts'
import { laterWords, t } from '../../words/later-words.ts'
import { language } from '../../words/words.ts'
import { type Attachment, isPicture, type Picture, type TextFile } from './attachments.ts'

/** Maximum bytes of one image, which is stored unchanged. */
export const MAX_HEAVY_BYTES = 20e6

/** The attachments, and a note for the user. */
interface ReadFiles {
  readonly attachments: readonly Attachment[]
  /** A sentence for the user; empty if there is nothing to report. */
  readonly note: string
}

/** SVG is text, which models understand. */
export const isPictureFile = ({ type }: File): boolean =>
  type.startsWith('image/') && !type.startsWith('image/svg')

/** Aborts a read, and reports its progress. */
interface ReadProgress {
  readonly signal?: AbortSignal | undefined
  /** Called with the name of a PDF, and the number of its pages that have been read. */
  readonly onPages?: ((name: string, done: number, all: number) => void) | undefined
}

/**
 * Reads files in addition to the `taken` ones of the same message. `isBlind`: the model has no vision tower.
 * Throws `unsupported` for too many files, or an image that is too large or that the model cannot see,
 * `format` for an image that the browser does not decode, and like `readDocument` for all other files. The
 * messages are for users. Rejects with the signal's reason once it is aborted.
 */
export async function readFiles(
  files: readonly File[],
  taken: number,
  isBlind: boolean,
  progress: ReadProgress = {},
): Promise<ReadFiles> {
  const count = files.length + taken
  if (count > MAX_DOCUMENTS) {
    throw new HalfbyteError('unsupported', t('documentsMany', { most: MAX_DOCUMENTS, count }), {
      count,
      most: MAX_DOCUMENTS,
    })
  }
  const picture = files.find(isPictureFile)
  if (isBlind && picture !== undefined) {
    throw new HalfbyteError('unsupported', t('blind', { name: picture.name }))
  }
  const attachments = await Promise.all(
    files.map((file) => (isPictureFile(file) ? readPicture(file) : readText(file, progress))),
  )
  const moving = await Promise.all(attachments.filter(isPicture).map(({ file }) => isAnimated(file)))
  return { attachments, note: moving.includes(true) ? t('moving') : '' }
}

async function readText(file: File, { signal, onPages }: ReadProgress): Promise<TextFile> {
  const name = plainName(file)
  try {
    return await readDocument(file, {
      startPdf: startPdfWorker,
      sizeText: bytes,
      signal,
      onPages: (done, all) => onPages?.(name, done, all),
    })
  } catch (error) {
    const sentence = documentSentence(error, laterWords(), language())
    if (sentence === undefined || !isHalfbyteError(error)) throw error
    throw new HalfbyteError(error.code, sentence, error.detail, { cause: error })
  }
}

async function readPicture(file: File): Promise<Picture> {
  const { pictureOf } = await import('../../../../src/ui/chat/picture-files.ts')
  const read = await pictureOf(file)
  if ('file' in read) return read
  if (read.reason === 'large') throw tooLarge(read)
  const cause = 'cause' in read ? read.cause : undefined
  throw new HalfbyteError('format', t('noPicture', { name: plainName(file) }), { type: file.type }, { cause })
}

function tooLarge({
  name,
  size,
  most,
}: {
  readonly name: string
  readonly size: number
  readonly most: number
}): HalfbyteError {
  const text = t('tooHeavy', { name, size: bytes(size), most: bytes(most) })
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
