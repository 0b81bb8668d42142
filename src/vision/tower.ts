// The vision tower of a multimodal model: what its file says about it.
//
// A tower reads a square picture as patches and attends from each to all; a projector turns its rows into
// rows of the language model.
import { Fields, unbuiltVariant } from '../arch/config/fields.ts'
import { HalfbyteError } from '../base/errors.ts'
import type { ModelFile } from '../formats/readers.ts'
import type { Activation } from '../graph/ir.ts'

/** `mlp`: LLaVA's; `idefics3`: SmolVLM's, which merges squares of rows. The names are those of llama.cpp. */
export type Projector = 'mlp' | 'idefics3'

export interface Tower {
  /** The file's name, for messages. */
  readonly name: string
  readonly projector: Projector
  /** Pixels of a side of the picture, and of a patch. */
  readonly imageSize: number
  readonly patchSize: number
  readonly hiddenSize: number
  readonly layers: number
  readonly heads: number
  readonly intermediateSize: number
  readonly normEpsilon: number
  /** `quick_gelu`: x * sigmoid(1.702 x), as CLIP has it. */
  readonly activation: Activation | 'quick_gelu'
  /** A row of its own before those of the patches, which the projector does not read. */
  readonly hasClass: boolean
  /** Norms before the first and after the last layer. */
  readonly hasPreNorm: boolean
  readonly hasPostNorm: boolean
  /** Rows on a side of the square that becomes one row of the language model. */
  readonly merge: number
  /** Numbers in a row of the language model. */
  readonly width: number
  /** Of each channel, red first, for pixels from 0 to 1. */
  readonly mean: readonly number[]
  readonly deviation: readonly number[]
  /** Pixels of the longest side of a picture that is cut into tiles. */
  readonly longestEdge: number
}

/** Patches on a side. */
export const gridOf = ({ imageSize, patchSize }: Tower): number => imageSize / patchSize

/** Rows of the tower for one picture. */
export const towerRows = (tower: Tower): number => gridOf(tower) ** 2 + (tower.hasClass ? 1 : 0)

/** Rows of the language model for one picture. */
export const pictureRows = (tower: Tower): number => (gridOf(tower) / tower.merge) ** 2

/**
 * The rows of each square side by side, from above and from the left, as `pixel_shuffle` of transformers'
 * Idefics3 orders them. The class's row is left out.
 */
export function gather(tower: Tower, rowAt: (row: number) => Float32Array, into: Float32Array): void {
  const { merge, hiddenSize, hasClass } = tower
  const grid = gridOf(tower)
  const first = hasClass ? 1 : 0
  let at = 0
  for (let y = 0; y < grid; y += merge) {
    for (let x = 0; x < grid; x += merge) {
      for (let square = 0; square < merge * merge; square++) {
        const row = (y + Math.floor(square / merge)) * grid + x + (square % merge)
        into.set(rowAt(first + row), at)
        at += hiddenSize
      }
    }
  }
}

const PROJECTORS: readonly string[] = ['mlp', 'idefics3'] satisfies Projector[]

/** No tower has ever exceeded these: a header that says more is lying. */
const MOST = {
  imageSize: 1 << 11,
  patchSize: 1 << 7,
  hiddenSize: 1 << 13,
  layers: 1 << 7,
  heads: 1 << 7,
  intermediateSize: 1 << 15,
  merge: 1 << 4,
  width: 1 << 14,
  longestEdge: 1 << 13,
} as const
/** Patches in one step. */
const MOST_ROWS = 1 << 13

/**
 * The tower of an mmproj file as llama.cpp writes it. Throws `architecture` for a file that is none or whose
 * numbers are impossible, `unsupported` for towers that are not built.
 */
export function readTower(file: ModelFile): Tower {
  const all = new Fields(file.name, (key) => file.metadata.get(key))
  if (file.format !== 'gguf' || all.text('general.architecture', '') !== 'clip') {
    throw new HalfbyteError(
      'architecture',
      `${file.name} is no vision tower; give the mmproj file that belongs to the model (GGUF, architecture clip)`,
      { file: file.name },
    )
  }
  const fields = new Fields(file.name, (key) => file.metadata.get(`clip.vision.${key}`))
  const projector = fields.text('projector_type', all.text('clip.projector_type', 'mlp'))
  if (!PROJECTORS.includes(projector)) {
    throw unbuiltVariant(file.name, `the projector "${projector}"`, `one of ${PROJECTORS.join(' and ')}`)
  }
  const has = (name: string) => file.tensors.has(`v.${name}`)
  const imageSize = fields.number('image_size')
  const tower: Tower = {
    name: file.name,
    projector: projector as Projector,
    imageSize,
    patchSize: fields.number('patch_size'),
    hiddenSize: fields.number('embedding_length'),
    layers: fields.number('block_count'),
    heads: fields.number('attention.head_count'),
    intermediateSize: fields.number('feed_forward_length'),
    normEpsilon: fields.number('attention.layer_norm_epsilon'),
    activation: activationOf(all),
    hasClass: has('class_embd'),
    hasPreNorm: has('pre_ln.weight'),
    hasPostNorm: has('post_ln.weight'),
    merge: projector === 'idefics3' ? fields.number('projector.scale_factor') : 1,
    width: outputsOf(file, projector === 'idefics3' ? 'mm.model.fc.weight' : 'mm.2.weight'),
    mean: channels(fields, 'image_mean'),
    deviation: channels(fields, 'image_std'),
    longestEdge: fields.number('preproc_image_size', 4 * imageSize),
  }
  checkTower(tower)
  return tower
}

function activationOf(all: Fields): Tower['activation'] {
  if (all.fact('clip.use_gelu', false)) return 'gelu'
  return all.fact('clip.use_silu', false) ? 'silu' : 'quick_gelu'
}

/** The number of outputs of a matrix; 0 if it is not there, which `checkTower` refuses. */
const outputsOf = ({ tensors }: ModelFile, name: string): number => tensors.get(name)?.shape[0] ?? 0

function channels(fields: Fields, key: string): readonly number[] {
  const list = fields.numberList(key)
  if (list.length === 3 && list.every((value) => value >= 0 && value <= 1)) return list
  throw new HalfbyteError(
    'architecture',
    `${fields.file}: clip.vision.${key} is [${list}] but must be three numbers from 0 to 1; convert the model again`,
    { key },
  )
}

function checkTower(tower: Tower): void {
  const { name, imageSize, patchSize, merge, hiddenSize, heads, normEpsilon, deviation } = tower
  for (const key of Object.keys(MOST) as (keyof typeof MOST)[]) {
    const value = tower[key]
    if (Number.isSafeInteger(value) && value > 0 && value <= MOST[key]) continue
    throw wrong(`${key} is ${value} but must be a whole number from 1 to ${MOST[key]}`)
  }
  if (imageSize % (patchSize * merge) !== 0) {
    throw wrong(`pictures of ${imageSize} pixels cannot be cut into squares of ${merge} x ${patchSize}`)
  }
  if (towerRows(tower) > MOST_ROWS)
    throw wrong(`a picture has ${towerRows(tower)} patches, above ${MOST_ROWS}`)
  if (!(normEpsilon >= 0 && normEpsilon < 1)) throw wrong(`the epsilon of norms is ${normEpsilon}`)
  if (deviation.some((value) => value === 0)) throw wrong('the deviation of a channel is 0')
  const headDim = hiddenSize / heads
  if (!Number.isInteger(headDim) || headDim % 4 !== 0 || headDim > 256) {
    throw unbuiltVariant(name, `heads of ${headDim}`, 'heads of a multiple of 4 up to 256')
  }

  function wrong(sentence: string): HalfbyteError {
    return new HalfbyteError(
      'architecture',
      `${name}: ${sentence}; the configuration is wrong, so fetch or convert the file again`,
      { file: name },
    )
  }
}
