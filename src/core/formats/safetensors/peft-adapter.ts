// Opens a PEFT adapter: tensor names say what changes, adapter_config.json says by how much.
import type { ByteSource } from '../../base/bytes.ts'
import { HalfbyteError } from '../../base/errors.ts'
import { isObject, type JsonObject } from '../../base/values.ts'
import { type Adapter, type LowRank, otherKind, pairsOf, type Replacement, type Shift } from '../adapter.ts'
import { readJson } from '../json-files.ts'
import { malformed, shown } from '../malformed.ts'
import type { TensorInfo } from '../tensors.ts'
import { patternValues } from './peft-patterns.ts'
import { floatTensor, readSafetensors } from './safetensors.ts'

/**
 * PEFT's files. Throws `unsupported` for adapters other than LoRA and DoRA and for settings that change
 * PEFT's arithmetic, `format` for tensors that do not belong together.
 */
export async function readPeftAdapter(
  weights: ByteSource,
  config: ByteSource,
  signal?: AbortSignal,
): Promise<Adapter> {
  const settings = await readJson(config, signal)
  const stored = await readSafetensors(weights, signal)
  const { name: file } = weights
  refuseVariants(file, settings)
  const parts = partsOf(file, [...stored.values()].map(floatTensor))
  const scale = scaleOf(file, settings)
  const changes = new Map<string, LowRank>()
  const add = (pairs: Map<string, LowRank>, isTable: boolean) => {
    for (const [name, pair] of pairs) {
      if (changes.has(name))
        throw malformed(file, `${shown(name)} has low-rank pairs for both a matrix and an embedding`, {
          tensor: name,
        })
      changes.set(name, { ...pair, isTable, magnitude: magnitudeOf(file, name, { settings, parts }) })
    }
  }
  add(pairsOf(file, parts.matrices, MATRIX, scale, '.weight'), false)
  add(pairsOf(file, parts.tables, TABLE, scale, '.weight'), true)
  const [lost] = parts.magnitudes.keys()
  if (lost !== undefined) throw malformed(file, `${shown(lost)} has a magnitude but neither A nor B`)
  const shifts = new Map<string, Shift>()
  for (const [module, tensor] of parts.shifts) {
    const change = changes.get(`${module}.weight`)
    if (change === undefined) throw malformed(file, `${shown(module)} has a bias of B but no B`)
    shifts.set(`${module}.bias`, { tensor, scale: change.scale })
  }
  return { name: file, format: 'safetensors', changes, replacements: parts.replacements, shifts }
}

const MATRIX = /^base_model\.model\.(.*)\.lora_(A|B)(?:\.\w+)?\.weight$/
const TABLE = /^base_model\.model\.(.*)\.lora_embedding_(A|B)(?:\.\w+)?$/
const MAGNITUDE = /^base_model\.model\.(.*)\.lora_magnitude_vector(?:\.\w+)?(?:\.weight)?$/
const BIAS_OF_B = /^base_model\.model\.(.*)\.lora_B(?:\.\w+)?\.bias$/
/** A module that was trained in full, or the matrix of a changed module. */
const WHOLE = /^base_model\.model\.(.*?)(\.base_layer)?\.(weight|bias)$/

interface Parts {
  readonly matrices: Map<string, TensorInfo>
  readonly tables: Map<string, TensorInfo>
  /** By module. */
  readonly magnitudes: Map<string, TensorInfo>
  readonly shifts: Map<string, TensorInfo>
  /** By tensor. */
  readonly replacements: Map<string, Replacement>
}

/** Sorts tensors by name. Throws `unsupported` for names that LoRA adapters do not have. */
function partsOf(file: string, tensors: readonly TensorInfo[]): Parts {
  const parts: Parts = {
    matrices: new Map(),
    tables: new Map(),
    magnitudes: new Map(),
    shifts: new Map(),
    replacements: new Map(),
  }
  const setOnce = <T>(map: Map<string, T>, key: string, value: T, { name }: TensorInfo) => {
    if (map.has(key)) throw malformed(file, `${shown(name)} occurs twice`, { tensor: name })
    map.set(key, value)
  }
  for (const tensor of tensors) {
    const { name } = tensor
    const magnitude = MAGNITUDE.exec(name)?.[1]
    const shift = BIAS_OF_B.exec(name)?.[1]
    const [, module, base, kind] = WHOLE.exec(name) ?? []
    if (MATRIX.test(name)) parts.matrices.set(name, tensor)
    else if (TABLE.test(name)) parts.tables.set(name, tensor)
    else if (magnitude !== undefined) setOnce(parts.magnitudes, magnitude, tensor, tensor)
    else if (shift !== undefined) setOnce(parts.shifts, shift, tensor, tensor)
    else if (module !== undefined && !/\.lora_|token_adapter/.test(name))
      setOnce(parts.replacements, `${module}.${kind}`, { tensor, isBase: base !== undefined }, tensor)
    else throw otherKind(file, `it changes ${shown(name)}`)
  }
  return parts
}

/** Removes a matrix's magnitude from `parts`. In DoRA, each matrix has one. */
function magnitudeOf(
  file: string,
  name: string,
  { settings, parts }: { readonly settings: JsonObject; readonly parts: Parts },
): TensorInfo | undefined {
  const module = name.replace(/\.weight$/, '')
  const magnitude = parts.magnitudes.get(module)
  parts.magnitudes.delete(module)
  if ((magnitude !== undefined) === (settings['use_dora'] === true)) return magnitude
  throw malformed(
    file,
    `use_dora is ${shown(settings['use_dora'])}, but ${shown(module)} has ${magnitude === undefined ? 'no' : 'a'} magnitude`,
  )
}

/** Settings with which PEFT computes more than sums of matrices. */
const VARIANTS = [
  'alora_invocation_tokens',
  'arrow_config',
  'kasa_config',
  'layer_replication',
  'monteclora_config',
  'target_parameters',
  'trainable_token_indices',
  'use_bdlora',
  'use_qalora',
] as const

/** Initialisations that derive A and B from the model's matrices. PEFT repeats them when it loads. */
const SPLITS_MODEL = /^(pissa|olora|corda|loftq|lora_ga)/i

function refuseVariants(file: string, settings: JsonObject): void {
  const { peft_type, init_lora_weights: start } = settings
  if (peft_type !== 'LORA') throw otherKind(file, `it is ${shown(peft_type)}`)
  const other = VARIANTS.find((key) => isSet(settings[key]))
  if (other !== undefined) throw otherKind(file, `its adapter_config.json has ${other}`)
  if (typeof start === 'string' && SPLITS_MODEL.test(start)) {
    throw new HalfbyteError(
      'unsupported',
      `${file}: init_lora_weights is ${shown(start)}, so it needs a base model minus the initial A and B; save it ` +
        'with path_initial_model_for_weight_conversion, or merge it into its model',
      { file, init: start },
    )
  }
}

const isSet = (value: unknown): boolean =>
  value !== undefined &&
  value !== null &&
  value !== false &&
  !(Array.isArray(value) && value.length === 0) &&
  !(isObject(value) && Object.keys(value).length === 0)

/** The scale that PEFT uses for a rank and a module. */
function scaleOf(file: string, settings: JsonObject): (rank: number, module: string) => number {
  const { r, lora_alpha: alpha, use_rslora, rank_pattern, alpha_pattern } = settings
  if (typeof alpha !== 'number') throw malformed(file, 'adapter_config.json has no lora_alpha')
  const rankOf = patternValues(file, 'rank_pattern', rank_pattern)
  const alphaOf = patternValues(file, 'alpha_pattern', alpha_pattern)
  return (rank, module) => {
    const own = rankOf(module) ?? r
    if (rank !== own) throw malformed(file, `the rank of ${shown(module)} is ${rank} but r is ${shown(own)}`)
    return (alphaOf(module) ?? alpha) / (use_rslora === true ? Math.sqrt(rank) : rank)
  }
}
