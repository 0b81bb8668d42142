// Reads the settings of a vision tower from a vision model's config.json and preprocessor_config.json.
import { ACTIVATIONS } from '../arch/config/config-hf.ts'
import { Fields, unbuiltVariant } from '../arch/config/fields.ts'
import { HalfbyteError } from '../base/errors.ts'
import type { ModelFile } from '../formats/readers.ts'
import type { MetaValue } from '../formats/tensors.ts'
import { QWEN_CLASSES, qwenTower } from './qwen-tower.ts'
import type { Filter } from './resize.ts'
import { checkSteps, checkTower, noTower, PICTURE_STEPS, type Projector, type Tower } from './tower.ts'
import type { TowerNames } from './tower-weights.ts'

/** The defaults of a transformers class, for keys that its files omit. */
interface Kind {
  readonly projector: Projector
  readonly tower: Readonly<Record<string, MetaValue>>
  readonly processor: Readonly<Record<string, MetaValue>>
}

const HALVES = [0.5, 0.5, 0.5]
const SIZES = { hidden_size: 768, intermediate_size: 3072, num_hidden_layers: 12, num_attention_heads: 12 }
const CLIP = { ...SIZES, image_size: 224, patch_size: 32, hidden_act: 'quick_gelu', layer_norm_eps: 1e-5 }
const TILED: Kind = {
  projector: 'idefics3',
  tower: {
    ...{ ...SIZES, hidden_size: 1152, num_attention_heads: 16, image_size: 224, patch_size: 32 },
    ...{ hidden_act: 'gelu_pytorch_tanh', layer_norm_eps: 1e-6 },
  },
  processor: {
    ...{ image_mean: HALVES, image_std: HALVES, resample: 1 },
    ...{ size: { longest_edge: 1456 }, max_image_size: { longest_edge: 364 } },
  },
}

const GEMMA: Kind = {
  projector: 'gemma3',
  tower: { ...SIZES, image_size: 224, patch_size: 16, hidden_act: 'gelu_pytorch_tanh', layer_norm_eps: 1e-6 },
  processor: { image_mean: HALVES, image_std: HALVES, resample: 2, size: { height: 224, width: 224 } },
}

const KINDS: ReadonlyMap<string, Kind> = new Map(
  Object.entries({
    Idefics3ForConditionalGeneration: TILED,
    SmolVLMForConditionalGeneration: TILED,
    Gemma3ForConditionalGeneration: GEMMA,
    LlavaForConditionalGeneration: {
      projector: 'mlp',
      tower: CLIP,
      processor: {
        image_mean: [0.48145466, 0.4578275, 0.40821073],
        image_std: [0.26862954, 0.26130258, 0.27577711],
        ...{ size: { shortest_edge: 224 }, crop_size: { height: 224, width: 224 }, resample: 3 },
      },
    },
  }),
)

/** Pillow's filter numbers. */
const FILTERS: Readonly<Record<number, Filter>> = { 1: 'lanczos', 2: 'bilinear', 3: 'bicubic' }

/**
 * The tower in a folder of safetensors. Throws `format` if the folder does not say how images are prepared,
 * `architecture` for impossible numbers, `unsupported` for towers that are not implemented. `tiles`: the
 * option `imageTiles`.
 */
export function hfTower(file: ModelFile, tiles?: number): Tower {
  const all = new Fields(file.name, (key) => file.metadata.get(key))
  const config = all.record('config') ?? Fields.of(file.name, {})
  const name = classOf(config)
  const kind = KINDS.get(name)
  const hasWindows = QWEN_CLASSES.get(name)
  const own = config.record('vision_config')
  if (own === undefined) throw noTower(file.name)
  const unbuilt = unbuiltClass(file)
  if (unbuilt !== undefined) throw unbuilt
  const stated = all.record('processor')
  if (stated === undefined) {
    throw new HalfbyteError(
      'format',
      `${file.name} has a vision tower but no preprocessor_config.json, which says how images are preprocessed; ` +
        'pass it with the model',
      { file: file.name },
    )
  }
  if (kind === undefined)
    return qwenTower(file, { vision: own, processor: stated, tiles, hasWindows: hasWindows === true })
  const processor = stated.renamed({}, kind.processor)
  const vision = own.renamed({}, kind.tower)
  const { projector } = kind
  const isLlava = projector === 'mlp'
  if (isLlava) refuseLlava(config, file)
  const layers = vision.number('num_hidden_layers')
  const imageSize = vision.number('image_size')
  return checkTower({
    name: file.name,
    projector,
    imageSize,
    patchSize: vision.number('patch_size'),
    hiddenSize: vision.number('hidden_size'),
    // A negative index counts from the states after the last layer.
    layers: isLlava ? layers + 1 + config.number('vision_feature_layer', -2) : layers,
    heads: vision.number('num_attention_heads'),
    intermediateSize: vision.number('intermediate_size'),
    normEpsilon: vision.number('layer_norm_eps'),
    activation: activationOf(vision, 'hidden_act', 'gelu'),
    projectorActivation: isLlava
      ? (activationOf(config, 'projector_hidden_act', 'gelu') as Tower['projectorActivation'])
      : 'gelu',
    hasClass: file.tensors.has('embeddings.class_embedding'),
    hasPreNorm: file.tensors.has('pre_layrnorm.weight'),
    hasPostNorm: !isLlava,
    merge: mergeOf(config, vision, projector),
    width: widthOf(file, projector),
    mean: processor.numberList('image_mean'),
    deviation: processor.numberList('image_std'),
    ...preparation(processor, { projector, imageSize }),
  })
}

const classOf = (config: Fields): string => config.textList('architectures')[0] ?? config.text('model_type')

/** The supported towers of LLaVA's class. Others, such as Pixtral's, use the same class. */
const LLAVA_TOWERS: readonly string[] = ['clip_vision_model', 'siglip_vision_model']

/** The error for a tower of an unsupported class; undefined if its class is supported. */
export function unbuiltClass(file: ModelFile): HalfbyteError | undefined {
  const config = new Fields(file.name, (key) => file.metadata.get(key)).record('config')
  if (config === undefined) return undefined
  const name = classOf(config)
  const refuse = (found: string, built: readonly string[]) =>
    unbuiltVariant(file.name, `the vision tower of ${found}`, `that of ${built.join(', ')}`)
  if (!KINDS.has(name) && !QWEN_CLASSES.has(name))
    return refuse(name, [...KINDS.keys(), ...QWEN_CLASSES.keys()])
  const type = config.record('vision_config')?.text('model_type', '') ?? ''
  const isOther = KINDS.get(name)?.projector === 'mlp' && type !== '' && !LLAVA_TOWERS.includes(type)
  return isOther ? refuse(type, LLAVA_TOWERS) : undefined
}

function mergeOf(config: Fields, vision: Fields, projector: Projector): number {
  if (projector === 'mlp') return 1
  if (projector === 'idefics3') return config.number('scale_factor', 2)
  const rows = config.number('mm_tokens_per_image', 256)
  return vision.number('image_size') / vision.number('patch_size') / Math.sqrt(rows)
}

/** 0 if the projector's last matrix is missing, which `checkTower` rejects. */
function widthOf({ tensors }: ModelFile, projector: Projector): number {
  const { merged, project, pooled } = HF_NAMES.names
  if (projector === 'gemma3') return tensors.get(pooled)?.shape[1] ?? 0
  return tensors.get(`${projector === 'mlp' ? project : merged}.weight`)?.shape[0] ?? 0
}

/** Rejects settings that other models of LLaVA's class use. */
function refuseLlava(config: Fields, file: ModelFile): void {
  const refuse = (found: string, supported: string) => unbuiltVariant(file.name, found, supported)
  const layer = config.number('vision_feature_layer', -2)
  if (!Number.isInteger(layer) || layer >= 0)
    throw refuse(`vision_feature_layer ${layer}`, 'a negative whole number')
  const hasClass = file.tensors.has('embeddings.class_embedding')
  const strategy = config.text('vision_feature_select_strategy', 'default')
  const wanted = hasClass ? 'default' : 'full'
  if (strategy !== wanted) throw refuse(`vision_feature_select_strategy ${strategy}`, wanted)
  if (!config.fact('multimodal_projector_bias', true)) throw refuse('a projector without biases', 'biases')
}

function activationOf(fields: Fields, key: string, fallback: string): Tower['activation'] {
  const name = fields.text(key, fallback)
  if (name === 'quick_gelu' && key === 'hidden_act') return name
  const found = ACTIVATIONS.get(name)
  if (found !== undefined) return found
  throw unbuiltVariant(fields.file, `${key} ${name}`, ['quick_gelu', ...ACTIVATIONS.keys()].join(' or '))
}

type Preparation = Pick<Tower, 'cut' | 'filter' | 'longestEdge' | 'shortestEdge'>

/** How the processor turns images into squares with `imageSize` pixels per side. */
function preparation(
  processor: Fields,
  { projector, imageSize }: Pick<Tower, 'projector' | 'imageSize'>,
): Preparation {
  const refuse = (found: string, supported: string) => unbuiltVariant(processor.file, found, supported)
  const isTiled = projector === 'idefics3'
  if (processor.fact('do_pan_and_scan', false)) throw refuse('do_pan_and_scan true', 'do_pan_and_scan false')
  checkSteps(processor, [...PICTURE_STEPS, ...(isTiled ? ['do_image_splitting'] : [])])
  const resample = processor.number('resample')
  const filter = FILTERS[resample]
  if (filter === undefined) throw refuse(`resample ${resample}`, '1, 2 or 3')
  const sizes = (key: string) => processor.record(key) ?? Fields.of(processor.file, {})
  const check = (what: string, side: number) => {
    if (side !== imageSize) throw refuse(`${what} of ${side} pixels`, `its tower's ${imageSize}`)
  }
  const rest = { filter, longestEdge: imageSize, shortestEdge: imageSize }
  const size = sizes('size')
  if (isTiled) {
    check('tiles', sizes('max_image_size').number('longest_edge'))
    return { ...rest, cut: 'tiles', longestEdge: size.number('longest_edge') }
  }
  if (size.has('height')) {
    for (const side of ['height', 'width']) check(side, size.number(side))
    return { ...rest, cut: processor.fact('do_pad', false) ? 'padded' : 'stretched' }
  }
  const shortestEdge = size.number('shortest_edge')
  if (processor.fact('do_pad', false)) {
    check('pictures', shortestEdge)
    return { ...rest, cut: 'padded' }
  }
  if (!processor.fact('do_center_crop', true)) throw refuse('do_center_crop false', 'squares')
  for (const side of ['height', 'width']) check(side, sizes('crop_size').number(side))
  return { ...rest, cut: 'cropped', shortestEdge }
}

/** Tensor names in transformers files, without the tower's prefix. */
export const HF_NAMES: TowerNames = {
  names: {
    patch: 'embeddings.patch_embedding',
    positions: 'embeddings.position_embedding',
    class: 'embeddings.class_embedding',
    pre_norm: 'pre_layrnorm',
    post_norm: 'post_layernorm',
    layers: 'encoder.layers',
    attn_norm: 'layer_norm1',
    attn_q: 'self_attn.q_proj',
    attn_k: 'self_attn.k_proj',
    attn_v: 'self_attn.v_proj',
    attn_output: 'self_attn.out_proj',
    mlp_norm: 'layer_norm2',
    mlp_gate: '',
    mlp_up: 'mlp.fc1',
    mlp_down: 'mlp.fc2',
    inner: 'multi_modal_projector.linear_1',
    project: 'multi_modal_projector.linear_2',
    merged: 'connector.modality_projection.proj',
    pooled_norm: 'multi_modal_projector.mm_soft_emb_norm.weight',
    pooled: 'multi_modal_projector.mm_input_projection_weight',
  },
  unused: /^(?:head\.|embeddings\.position_ids$|post_layernorm\.)/,
}
