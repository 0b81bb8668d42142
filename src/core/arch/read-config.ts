// Reads the hyperparameters of an opened model of any format, checked and frozen.
import { HalfbyteError } from '../base/errors.ts'
import { readVector } from '../formats/dequantize.ts'
import type { ModelFile, ModelFormat } from '../formats/readers.ts'
import type { Family, ModelConfig } from './config/config.ts'
import { ggufConfig } from './config/config-gguf.ts'
import { hbmConfig } from './config/config-hbm.ts'
import { hfClass, hfConfig } from './config/config-hf.ts'
import { Fields } from './config/fields.ts'
import { validConfig } from './config/validate.ts'
import { findFamily, loadRareFamilies, unknownArchitecture } from './families.ts'
import { embeddingTable, LONG_FACTORS, ROPE_FACTORS, SHORT_FACTORS } from './tensors/names.ts'

type ConfigFile = Pick<ModelFile, 'name' | 'format' | 'metadata' | 'tensors' | 'loadFamilies'>

/**
 * Reads no data but RoPE's factors, where a GGUF file stores them. Throws `architecture` for unknown families
 * and for numbers that are missing, implausible or contradict the embedding table; `unsupported` for variants
 * that are not built; what `loadFamilies` throws.
 */
export async function readConfig(model: ConfigFile, signal?: AbortSignal): Promise<ModelConfig> {
  const config = validConfig(model.name, await statedConfig(model, signal))
  const { vocabSize, hiddenSize } = config
  const { shape } = embeddingTable(model, config.family)
  if (shape.length === 2 && shape[0] === vocabSize && shape[1] === hiddenSize) return config
  throw new HalfbyteError(
    'architecture',
    `${model.name}: the embedding table is [${shape}] but the configuration says ${vocabSize} tokens of ${hiddenSize} ` +
      'numbers; the tokenizer or the configuration is of another model',
    { shape: shape.map(String), vocabSize, hiddenSize },
  )
}

async function statedConfig(model: ConfigFile, signal?: AbortSignal): Promise<ModelConfig> {
  const { name, format, metadata, tensors } = model
  const all = new Fields(name, (key) => metadata.get(key))
  const fields = all.record('config') ?? Fields.of(name, {})
  const family = await familyOf(model, format === 'gguf' ? all : fields)
  if (format === 'safetensors') return hfConfig(name, fields, { family, unset: all.list('unset') })
  if (format !== 'gguf') return hbmConfig(name, fields)
  const factors = async (tensor: string) => {
    const found = tensors.get(tensor)
    return found && [...(await readVector(found, signal))]
  }
  return ggufConfig({
    name,
    family,
    metadata,
    // The table of an unknown architecture may have another name. Report the architecture, not the missing
    // table.
    embeddingRows: tensors.get('token_embd.weight')?.shape[0] ?? 0,
    hasOutput: tensors.has('output.weight'),
    ropeFactors: {
      plain: await factors(ROPE_FACTORS),
      short: await factors(SHORT_FACTORS),
      long: await factors(LONG_FACTORS),
    },
  })
}

/** The family that the configuration names. Loads the rare ones if no common one has the name. */
async function familyOf(model: ConfigFile, fields: Fields): Promise<Family> {
  const { format, name } = model
  const [named, matches] = nameOfFamily(format, fields)
  const common = findFamily(matches)
  if (common !== undefined) return common
  await loadRareFamilies(model)
  const rare = findFamily(matches)
  if (rare === undefined) throw unknownArchitecture(name, named)
  return rare
}

/** What names the family in a file of this format, and whether a family has that name. */
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
    return [named, ({ hf }) => Object.hasOwn(hf.classes, named)]
  }
  const named = fields.text('family')
  return [named, (_, family) => family === named]
}
