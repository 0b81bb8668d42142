// Reads the hyperparameters of an opened model in any format, then validates and freezes them.
import { HalfbyteError, isHalfbyteError } from '../base/errors.ts'
import { readVector } from '../formats/dequantize.ts'
import { shown } from '../formats/malformed.ts'
import type { ModelFile, ModelFormat } from '../formats/readers.ts'
import type { Family, ModelConfig } from './config/config.ts'
import { ggufConfig } from './config/config-gguf.ts'
import { hbmConfig } from './config/config-hbm.ts'
import { hfClass, hfConfig, isClassOf } from './config/config-hf.ts'
import { Fields } from './config/fields.ts'
import { validConfig } from './config/validate.ts'
import { FAMILIES, familyFile, findFamily, loadRareFamilies } from './families.ts'
import { isRare } from './rare/names.ts'
import {
  embeddingTable,
  LONG_FACTORS,
  ROPE_FACTORS,
  requireTensor,
  resolveWeights,
  SHORT_FACTORS,
} from './tensors/names.ts'

type ConfigFile = Pick<ModelFile, 'name' | 'format' | 'metadata' | 'tensors' | 'loadFamilies'>

export interface ReadConfigOptions {
  /** The family to read the model as. Default: as stated in the file. */
  readonly architecture?: Family | undefined
  readonly signal?: AbortSignal | undefined
}

/**
 * Reads no tensor data except RoPE's factors, if a GGUF file stores them. Throws `architecture` for an
 * unknown family, naming the family that fits the file if there is one, and for numbers that are missing,
 * implausible or contradict the embedding table; `unsupported` for variants that are not implemented; and any
 * error of `loadFamilies`.
 */
export async function readConfig(model: ConfigFile, options: ReadConfigOptions = {}): Promise<ModelConfig> {
  const { architecture, signal } = options
  const family =
    architecture === undefined ? await statedFamily(model, signal) : await givenFamily(model, architecture)
  return configAs(family, model, signal)
}

async function configAs(family: Family, model: ConfigFile, signal?: AbortSignal): Promise<ModelConfig> {
  const config = validConfig(model.name, await statedConfig(family, model, signal))
  const { vocabSize, hiddenSize } = config
  const { shape } = embeddingTable(model, config.family)
  if (shape.length === 2 && shape[0] === vocabSize && shape[1] === hiddenSize) return config
  throw new HalfbyteError(
    'architecture',
    `${model.name}: the embedding table is [${shape}] but the configuration says ${vocabSize} tokens of ${hiddenSize} ` +
      'numbers; the tokenizer or the configuration belongs to a different model',
    { shape: shape.map(String), vocabSize, hiddenSize },
  )
}

const allFields = ({ name, metadata }: ConfigFile): Fields => new Fields(name, (key) => metadata.get(key))
const configFields = (model: ConfigFile): Fields =>
  model.format === 'gguf'
    ? allFields(model)
    : (allFields(model).record('config') ?? Fields.of(model.name, {}))

async function statedConfig(family: Family, model: ConfigFile, signal?: AbortSignal): Promise<ModelConfig> {
  const { name, format, metadata, tensors } = model
  const fields = configFields(model)
  if (format === 'safetensors') {
    const config = hfConfig(name, fields, { family, unset: allFields(model).list('unset') })
    const { stored } = familyFile(family).hf
    const vector = async (tensor: string) => [...(await readVector(requireTensor(model, tensor), signal))]
    return stored === undefined ? config : { ...config, ...(await stored(config, vector)) }
  }
  if (format !== 'gguf') return hbmConfig(name, fields, family)
  const factors = async (tensor: string) => {
    const found = tensors.get(tensor)
    return found && [...(await readVector(found, signal))]
  }
  const config = ggufConfig({
    name,
    family,
    metadata,
    // The table of an unknown architecture may have another name. Report the architecture rather than the
    // missing table.
    embeddingRows: tensors.get('token_embd.weight')?.shape[0] ?? 0,
    hasOutput: tensors.has('output.weight'),
    kinds: new Set([...tensors.keys()].map((tensor) => tensor.replace(/^blk\.\d+\./, ''))),
    ropeFactors: {
      plain: await factors(ROPE_FACTORS),
      short: await factors(SHORT_FACTORS),
      long: await factors(LONG_FACTORS),
    },
  })
  const { stored } = familyFile(family).gguf
  return stored === undefined ? config : { ...config, ...(await stored(config, factors)) }
}

/** Loads the rare families if the file names none of the common ones. */
async function statedFamily(model: ConfigFile, signal?: AbortSignal): Promise<Family> {
  if (isRareType(model)) await loadRareFamilies(model)
  const [named, matches] = nameOfFamily(model.format, configFields(model))
  const common = findFamily(matches)
  if (common !== undefined) return common
  await loadRareFamilies(model)
  return findFamily(matches) ?? (await unknownFamily(model, named, signal))
}

/** True if config.json has a rare family's model type. Its class may be that of a common family. */
function isRareType(model: ConfigFile): boolean {
  const fields = configFields(model)
  return model.format === 'safetensors' && fields.has('model_type') && isRare(fields.text('model_type'))
}

async function givenFamily(model: ConfigFile, architecture: Family): Promise<Family> {
  if (model.format === 'onnx') {
    throw new HalfbyteError(
      'unsupported',
      `${model.name}: architecture is ${shown(architecture)}, but an ONNX graph defines its own computation; leave the option out`,
      { architecture },
    )
  }
  const isNamed = findFamily((_, family) => family === architecture) !== undefined
  if (!isNamed) await loadRareFamilies(model)
  if (FAMILIES.includes(architecture)) return architecture
  throw new HalfbyteError(
    'unsupported',
    `architecture is ${shown(architecture)} but must be one of: ${FAMILIES.join(', ')}`,
    { architecture, supported: FAMILIES },
  )
}

/** Throws `architecture`. The error names the first family that has all the file's keys and tensors. */
async function unknownFamily(model: ConfigFile, named: string, signal?: AbortSignal): Promise<never> {
  const { name } = model
  const stated = `${name}: the architecture ${shown(named)} is not supported; `
  for (const family of FAMILIES) {
    if (!(await fits(family, model, signal))) continue
    throw new HalfbyteError(
      'architecture',
      `${stated}this looks like a ${family}; pass architecture: '${family}' to try`,
      { architecture: named, supported: FAMILIES, nearest: family },
    )
  }
  throw new HalfbyteError(
    'architecture',
    `${stated}choose a model of one that is: ${FAMILIES.join(', ')} (Mistral counts as llama)`,
    { architecture: named, supported: FAMILIES },
  )
}

/** Whether the family has every key and tensor of the file. */
async function fits(family: Family, model: ConfigFile, signal?: AbortSignal): Promise<boolean> {
  try {
    resolveWeights(model, await configAs(family, model, signal))
    return true
  } catch (error) {
    if (!isHalfbyteError(error)) throw error
    return false
  }
}

/**
 * The name that identifies the family in this file's format, and a predicate that says whether a family has
 * that name.
 */
function nameOfFamily(
  format: ModelFormat,
  fields: Fields,
): readonly [string, Parameters<typeof findFamily>[0]] {
  if (format === 'gguf') {
    const named = fields.text('general.architecture')
    return [named, ({ gguf }) => gguf.architecture === named]
  }
  if (format === 'safetensors') {
    const named = hfClass(fields)
    return [named, ({ hf }) => Object.keys(hf.classes).some((name) => isClassOf(named, name))]
  }
  const named = fields.text('family')
  return [named, (_, family) => family === named]
}
