// Reads the settings of a vision tower from an mmproj file written by llama.cpp.
import { Fields, unbuiltVariant } from '../arch/config/fields.ts'
import type { ModelFile } from '../formats/readers.ts'
import { checkTower, noTower, type Projector, type Tower, type TowerWindows } from './tower.ts'
import type { TowerNames } from './tower-weights.ts'
import { pixelRange, windowSide } from './whole-picture.ts'

/** `last`: the projector's last matrix, whose shape has the outputs at `axis`. `merge`: the default. */
const KINDS = {
  mlp: { cut: 'padded', filter: 'bicubic', merge: 1, last: 'mm.2.weight', axis: 0 },
  idefics3: { cut: 'tiles', filter: 'lanczos', merge: undefined, last: 'mm.model.fc.weight', axis: 0 },
  gemma3: { cut: 'stretched', filter: 'bilinear', merge: 4, last: 'mm.input_projection.weight', axis: 1 },
  qwen2vl_merger: { cut: 'whole', filter: 'bicubic', merge: 2, last: 'mm.2.weight', axis: 0 },
  'qwen2.5vl_merger': { cut: 'whole', filter: 'bicubic', merge: 2, last: 'mm.2.weight', axis: 0 },
} as const satisfies Record<Projector, object>

/** Pixels per side of a window, if the file does not say. */
const LLAMA_WINDOW = 112

/** Minimum and maximum number of rows of the language model per image, if the file does not say. */
const LLAMA_ROWS = [4, 16_384]

const PROJECTORS: readonly string[] = Object.keys(KINDS)

/**
 * Throws `architecture` for a file that is not a tower or whose numbers are impossible, `unsupported` for
 * towers that are not implemented. `tiles`: the option `imageTiles`.
 */
export function ggufTower(file: ModelFile, tiles?: number): Tower {
  const all = new Fields(file.name, (key) => file.metadata.get(key))
  if (file.format !== 'gguf' || all.text('general.architecture', '') !== 'clip') throw noTower(file.name)
  const fields = new Fields(file.name, (key) => file.metadata.get(`clip.vision.${key}`))
  const projector = fields.text('projector_type', all.text('clip.projector_type', 'mlp'))
  if (!PROJECTORS.includes(projector)) {
    throw unbuiltVariant(file.name, `the projector "${projector}"`, `one of ${PROJECTORS.join(', ')}`)
  }
  const has = (name: string) => file.tensors.has(`v.${name}`)
  const own = KINDS[projector as Projector]
  const patchSize = fields.number('patch_size')
  const isWhole = own.cut === 'whole'
  const mergeKey = isWhole ? 'spatial_merge_size' : 'projector.scale_factor'
  const merge = own.merge === 1 ? 1 : fields.number(mergeKey, own.merge)
  const square = (patchSize * merge) ** 2
  const stated = ['min', 'max'].map((end, i) =>
    fields.number(`image_${end}_pixels`, square * LLAMA_ROWS[i]!),
  ) as [number, number]
  const range = isWhole ? pixelRange({ patchSize, merge }, stated, tiles) : undefined
  const imageSize = range?.imageSize ?? fields.number('image_size')
  return checkTower({
    name: file.name,
    projector: projector as Projector,
    imageSize,
    patchSize,
    pixels: range?.pixels,
    windows: projector === 'qwen2.5vl_merger' ? windowsOf(fields, { patchSize, merge }) : undefined,
    hiddenSize: fields.number('embedding_length'),
    layers: fields.number('block_count'),
    heads: fields.number('attention.head_count'),
    intermediateSize: fields.number('feed_forward_length'),
    normEpsilon: fields.number('attention.layer_norm_epsilon'),
    activation: activationOf(all),
    projectorActivation: isWhole ? 'gelu_exact' : 'gelu',
    hasClass: has('class_embd'),
    hasPreNorm: has('pre_ln.weight'),
    hasPostNorm: has('post_ln.weight'),
    merge,
    width: file.tensors.get(own.last)?.shape[own.axis] ?? 0,
    mean: fields.numberList('image_mean'),
    deviation: fields.numberList('image_std'),
    cut: own.cut,
    filter: own.filter,
    longestEdge: fields.number('preproc_image_size', 4 * imageSize),
    shortestEdge: imageSize,
  })
}

/** The last of every `n_wa_pattern` layers attends to all rows. */
function windowsOf(fields: Fields, sizes: Pick<Tower, 'patchSize' | 'merge'>): TowerWindows {
  const pattern = fields.number('n_wa_pattern')
  if (!Number.isInteger(pattern) || pattern < 1)
    throw unbuiltVariant(fields.file, `n_wa_pattern ${pattern}`, 'a whole number from 1')
  const side = windowSide(fields.number('window_size', LLAMA_WINDOW), sizes)
  return { side, isFull: (layer) => (layer + 1) % pattern === 0 }
}

function activationOf(all: Fields): Tower['activation'] {
  if (all.fact('clip.use_gelu', false)) return 'gelu'
  return all.fact('clip.use_silu', false) ? 'silu' : 'quick_gelu'
}

/** Older files swap `ffn_up` and `ffn_down`. */
export const GGUF_NAMES: TowerNames = {
  names: {
    patch: 'v.patch_embd',
    positions: 'v.position_embd',
    class: 'v.class_embd',
    pre_norm: 'v.pre_ln',
    post_norm: 'v.post_ln',
    layers: 'v.blk',
    attn_norm: 'ln1',
    attn_q: 'attn_q',
    attn_k: 'attn_k',
    attn_v: 'attn_v',
    attn_output: 'attn_out',
    mlp_norm: 'ln2',
    mlp_gate: 'ffn_gate',
    mlp_up: 'ffn_up',
    mlp_down: 'ffn_down',
    inner: 'mm.0',
    project: 'mm.2',
    merged: 'mm.model.fc',
    pooled_norm: 'mm.soft_emb_norm.weight',
    pooled: 'mm.input_projection.weight',
  },
  unused: /^(t\.|mm\.(?:model\.)?image_newline|model\.image_newline|v\.head)/,
}
