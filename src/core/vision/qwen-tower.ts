// Reads the settings of the vision towers of Qwen2-VL and Qwen2.5-VL from config.json and
// preprocessor_config.json.
//
// P. Wang and others, "Qwen2-VL: Enhancing Vision-Language Model's Perception of the World at Any
// Resolution", 2024. S. Bai and others, "Qwen2.5-VL Technical Report", 2025.
import { type Fields, unbuiltVariant } from '../arch/config/fields.ts'
import type { ModelFile } from '../formats/readers.ts'
import { checkSteps, checkTower, PICTURE_STEPS, type Tower, type TowerWindows } from './tower.ts'
import type { TowerNames } from './tower-weights.ts'
import { pixelRange, windowSide } from './whole-picture.ts'

const SIZES = { patch_size: 14, spatial_merge_size: 2, temporal_patch_size: 2, in_channels: 3 }
const TOWER = { depth: 32, embed_dim: 1280, num_heads: 16, mlp_ratio: 4, hidden_act: 'quick_gelu', ...SIZES }
/** Settings of Qwen2.5-VL. */
const WINDOWED = {
  ...{ depth: 32, hidden_size: 3584, num_heads: 16, intermediate_size: 3420, hidden_act: 'silu', ...SIZES },
  ...{ window_size: 112, fullatt_block_indexes: [7, 15, 23, 31] },
}
const THETA = 10_000

/** The classes of transformers, and whether their towers have windows. */
export const QWEN_CLASSES: ReadonlyMap<string, boolean> = new Map([
  ['Qwen2VLForConditionalGeneration', false],
  ['Qwen2_5_VLForConditionalGeneration', true],
])

const PROCESSOR = {
  image_mean: [0.48145466, 0.4578275, 0.40821073],
  image_std: [0.26862954, 0.26130258, 0.27577711],
  ...{ resample: 3, patch_size: 14, merge_size: 2, temporal_patch_size: 2 },
}

interface Stated {
  readonly vision: Fields
  readonly processor: Fields
  readonly hasWindows: boolean
  /** The option `imageTiles`. */
  readonly tiles: number | undefined
}

/** Throws `architecture` for impossible numbers, `unsupported` for variants that are not implemented. */
export function qwenTower(file: ModelFile, stated: Stated): Tower {
  const { tiles, hasWindows } = stated
  const vision = stated.vision.renamed({}, hasWindows ? WINDOWED : TOWER)
  const processor = stated.processor.renamed({}, PROCESSOR)
  const patchSize = vision.number('patch_size')
  const merge = vision.number('spatial_merge_size')
  refuseOthers(vision, processor, hasWindows ? WINDOWED : TOWER)
  const hiddenSize = vision.number(hasWindows ? 'hidden_size' : 'embed_dim')
  const size = processor.record('size')
  const square = (patchSize * merge) ** 2
  const pixels = (key: string, edge: string, rows: number) =>
    processor.number(key, size?.number(edge, size.number(key, rows * square)) ?? rows * square)
  const range = pixelRange(
    { patchSize, merge },
    [pixels('min_pixels', 'shortest_edge', 4), pixels('max_pixels', 'longest_edge', 1280)],
    tiles,
  )
  return checkTower({
    ...{ name: file.name, patchSize, merge, hiddenSize, ...range },
    projector: hasWindows ? 'qwen2.5vl_merger' : 'qwen2vl_merger',
    layers: vision.number('depth'),
    heads: vision.number('num_heads'),
    intermediateSize: hasWindows
      ? vision.number('intermediate_size')
      : Math.trunc(hiddenSize * vision.number('mlp_ratio')),
    normEpsilon: 1e-6,
    activation: hasWindows ? 'silu' : 'quick_gelu',
    projectorActivation: 'gelu_exact',
    ...{ hasClass: false, hasPreNorm: false, hasPostNorm: true },
    width: file.tensors.get(`${QWEN_NAMES.names.project}.weight`)?.shape[0] ?? 0,
    mean: processor.numberList('image_mean'),
    deviation: processor.numberList('image_std'),
    ...{ cut: 'whole', filter: 'bicubic', longestEdge: range.imageSize, shortestEdge: range.imageSize },
    windows: hasWindows ? windowsOf(vision, { patchSize, merge }) : undefined,
  })
}

function windowsOf(vision: Fields, sizes: Pick<Tower, 'patchSize' | 'merge'>): TowerWindows {
  const full = vision.numberList('fullatt_block_indexes')
  return {
    side: windowSide(vision.number('window_size'), sizes),
    isFull: (layer) => full.includes(layer),
  }
}

/** Rejects settings that other models of the class could have. */
function refuseOthers(vision: Fields, processor: Fields, usual: typeof TOWER | typeof WINDOWED): void {
  const { file } = vision
  const check = (fields: Fields, key: string, wanted: number) => {
    const found = fields.number(key)
    if (found !== wanted) throw unbuiltVariant(file, `${key} ${found}`, `${key} ${wanted}`)
  }
  const activation = vision.text('hidden_act')
  if (activation !== usual.hidden_act)
    throw unbuiltVariant(file, `hidden_act ${activation}`, usual.hidden_act)
  const theta = vision.record('rope_parameters')?.number('rope_theta', THETA) ?? THETA
  if (theta !== THETA) throw unbuiltVariant(file, `the tower's rope_theta ${theta}`, `${THETA}`)
  check(vision, 'in_channels', 3)
  check(vision, 'temporal_patch_size', 2)
  check(processor, 'temporal_patch_size', 2)
  check(processor, 'patch_size', vision.number('patch_size'))
  check(processor, 'merge_size', vision.number('spatial_merge_size'))
  check(processor, 'resample', 3)
  checkSteps(processor, PICTURE_STEPS)
}

/** Tensor names in transformers files, without the tower's prefix. */
export const QWEN_NAMES: TowerNames = {
  names: {
    ...{ patch: 'patch_embed.proj', layers: 'blocks', attn_norm: 'norm1', mlp_norm: 'norm2' },
    ...{ attn_q: 'attn.qkv', attn_k: 'attn.qkv', attn_v: 'attn.qkv', attn_output: 'attn.proj' },
    ...{ mlp_gate: '', mlp_up: 'mlp.fc1', mlp_down: 'mlp.fc2', post_norm: 'merger.ln_q' },
    ...{ inner: 'merger.mlp.0', project: 'merger.mlp.2' },
    // These towers have none of the following tensors.
    ...{ positions: '', class: '', pre_norm: '', merged: '', pooled_norm: '', pooled: '' },
  },
  unused: /^$/,
}

export const QWEN_WINDOWED_NAMES: TowerNames = {
  ...QWEN_NAMES,
  names: { ...QWEN_NAMES.names, mlp_gate: 'mlp.gate_proj', mlp_up: 'mlp.up_proj', mlp_down: 'mlp.down_proj' },
}
