// A model's image input: puts the images of a conversation into its prompt, and encodes each of them once.
import { HalfbyteError } from '../../../core/base/errors.ts'
import { sha256 } from '../../../core/base/sha256.ts'
import type { InputRows } from '../../../core/generate/schedule/input-rows.ts'
import { isInputWord } from '../../../core/generate/schedule/row-source.ts'
import type { Sequence } from '../../../core/generate/schedule/sequence.ts'
import type { CutPicture } from '../../../core/vision/cut-picture.ts'
import type { Sides } from '../../../core/vision/tower.ts'
import { pictureKeys, pictureMark, splitAtPictures } from '../../chat/picture-marks.ts'
import type { Message, PictureSource } from '../../types/conversation.ts'
import type { Prompt } from '../../wire/protocol.ts'
import type { ModelText, SeenPrompt, SeenSession, Sight } from '../loaded-model.ts'
import { pictureBytes } from './picture-file.ts'
import { readMessages, writtenMessages } from './saved-pictures.ts'

type Tile = CutPicture['tiles'][number]

interface SightOptions {
  readonly inputs: InputRows
  /** Rows of the language model across and down a tile. */
  readonly sidesOf: (tile: Tile) => Sides
  /** Decodes an image and splits it into tiles. Rejects like `cutOf`. */
  readonly cut: (source: PictureSource, signal?: AbortSignal) => Promise<CutPicture>
  /** Computes the rows [rows of the tile][width] of a tile. */
  readonly encode: (tile: Tile) => Float32Array
  readonly text: ModelText
  readonly yieldTask: () => Promise<void>
}

/** What the model reads for an image: texts, which are encoded with their surroundings, and ids. */
interface KnownPicture {
  readonly before: string
  readonly ids: readonly number[]
  readonly after: string
}

export class TowerSight implements Sight {
  readonly #options: SightOptions
  readonly #known = new Map<string, KnownPicture>()
  /** Images of the last prompt that were cropped and not yet encoded. */
  readonly #fresh = new Map<string, CutPicture>()

  constructor(options: SightOptions) {
    this.#options = options
  }

  /**
   * Rejects with errors of decoding, `unsupported` for images of impossible sizes, or the signal's reason.
   */
  async look(prompt: Prompt, signal?: AbortSignal): Promise<SeenPrompt> {
    const sources = new Map<string, PictureSource>()
    this.#fresh.clear()
    const seen: Prompt =
      prompt.type === 'messages'
        ? {
            ...prompt,
            messages: await Promise.all(prompt.messages.map((each) => this.#marked(each, sources, signal))),
          }
        : prompt
    const { text } = this.#options
    return {
      prompt: seen,
      encode: (given, start, after) => {
        const ids: number[] = []
        let rest = ''
        for (const { plain, key } of splitAtPictures(given, (each) => this.#known.has(each))) {
          const picture = key === undefined ? undefined : this.#known.get(key)
          const all = rest + plain + (picture?.before ?? '')
          const isFirst = start && ids.length === 0
          if (all !== '' || isFirst) ids.push(...text.encode(all, isFirst, ids.at(-1) ?? after))
          ids.push(...(picture?.ids ?? []))
          rest = picture?.after ?? ''
        }
        return ids
      },
      hold: (sequence, all, signal) => this.#hold(sequence, all, sources, signal),
    }
  }

  async save(sequence: Sequence, messages: readonly Message[]): Promise<SeenSession> {
    return {
      messages: await writtenMessages(messages),
      pictures: this.#options.inputs.rangesIn(sequence.tokens),
    }
  }

  restore(sequence: Sequence, { messages, pictures = [] }: SeenSession): readonly Message[] {
    const { inputs } = this.#options
    const claimed = pictures.filter((range) => inputs.claim(range))
    const isKnown = (word: number) =>
      claimed.some(({ first, count }) => word >= first && word < first + count)
    const lost = sequence.tokens.findIndex((word) => isInputWord(word) && !isKnown(word))
    if (lost >= 0) sequence.truncate(lost)
    return readMessages(messages)
  }

  /** The message with marks in its text and without images. */
  async #marked(
    message: Message,
    sources: Map<string, PictureSource>,
    signal: AbortSignal | undefined,
  ): Promise<Message> {
    const { images = [], ...rest } = message
    if (images.length === 0) return message
    const keys: string[] = []
    for (const source of images) {
      const key = await sha256(await pictureBytes(source))
      sources.set(key, source)
      if (!this.#known.has(key)) this.#learn(key, await this.#options.cut(source, signal))
      keys.push(key)
    }
    return { ...rest, content: pictureKeys(message.content, keys.map(pictureMark)) }
  }

  #learn(key: string, cut: CutPicture): void {
    const { tiles, parts } = cut
    this.#fresh.set(key, cut)
    const { inputs, text } = this.#options
    const { starts, rows } = this.#rowsOf(tiles)
    const columns = inputs.isPlaced ? this.#options.sidesOf(tiles[0]!).width : undefined
    const words = inputs.wordsOf(key, rows, columns)
    const ids: number[] = []
    const first = parts[0]
    const last = parts.at(-1)
    const before = typeof first === 'string' ? first : ''
    const end = typeof last === 'string' ? last : ''
    for (const part of parts.slice(before === '' ? 0 : 1, end === '' ? undefined : -1)) {
      if (typeof part === 'number') ids.push(...words.slice(starts[part], starts[part + 1]))
      else ids.push(...text.encode(part, false, ids.at(-1)))
    }
    this.#known.set(key, { before, ids, after: end })
  }

  /** The first row of each tile, and the total number of rows. */
  #rowsOf(tiles: readonly Tile[]): { readonly starts: readonly number[]; readonly rows: number } {
    let rows = 0
    const starts = tiles.map((tile) => {
      const { width, height } = this.#options.sidesOf(tile)
      rows += width * height
      return rows - width * height
    })
    return { starts, rows }
  }

  async #hold(
    sequence: Sequence,
    all: boolean,
    sources: ReadonlyMap<string, PictureSource>,
    signal: AbortSignal,
  ): Promise<() => void> {
    const { inputs } = this.#options
    const held: string[] = []
    const release = () => {
      for (const key of held.splice(0)) inputs.release(key)
    }
    try {
      for (const { key } of inputs.rangesIn(sequence.tokens.slice(all ? 0 : sequence.cached))) {
        const rows = inputs.has(key) ? undefined : await this.#read(key, sources.get(key), signal)
        inputs.hold(key, rows)
        held.push(key)
      }
      return release
    } catch (error) {
      release()
      throw error
    }
  }

  /** The rows of an image, tile by tile. */
  async #read(key: string, source: PictureSource | undefined, signal: AbortSignal): Promise<Float32Array> {
    if (source === undefined) throw new HalfbyteError('internal', `no image of the prompt has the key ${key}`)
    const { cut, encode, inputs, yieldTask } = this.#options
    const { tiles } = this.#fresh.get(key) ?? (await cut(source, signal))
    this.#fresh.delete(key)
    const { starts, rows: count } = this.#rowsOf(tiles)
    const rows = new Float32Array(count * inputs.width)
    for (const [index, tile] of tiles.entries()) {
      // Lets other replies and aborts run between two tiles.
      await yieldTask()
      signal.throwIfAborted()
      rows.set(encode(tile), starts[index]! * inputs.width)
    }
    return rows
  }
}
