// Reads the hyperparameters of an opened model of any format, checked and frozen.
import { HalfbyteError } from '../base/errors.ts'
import { readVector } from '../formats/dequantize.ts'
import type { ModelFile } from '../formats/readers.ts'
import type { ModelConfig } from './config/config.ts'
import { ggufConfig } from './config/config-gguf.ts'
import { hbmConfig } from './config/config-hbm.ts'
import { hfConfig } from './config/config-hf.ts'
import { Fields } from './config/fields.ts'
import { validConfig } from './config/validate.ts'
import { familyFile } from './families.ts'
import { embeddingTable, LONG_FACTORS, ROPE_FACTORS, requireTensor, SHORT_FACTORS } from './tensors/names.ts'

/**
 * Reads no data but RoPE's factors, where a GGUF file stores them. Throws `architecture` for unknown families
 * and for numbers that are missing, implausible or contradict the embedding table; `unsupported` for variants
 * that are not built.
 */
export async function readConfig(
  model: Pick<ModelFile, 'name' | 'format' | 'metadata' | 'tensors'>,
  signal?: AbortSignal,
): Promise<ModelConfig> {
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

async function statedConfig(
  model: Pick<ModelFile, 'name' | 'format' | 'metadata' | 'tensors'>,
  signal?: AbortSignal,
): Promise<ModelConfig> {
  const { name, format, metadata, tensors } = model
  const all = new Fields(name, (key) => metadata.get(key))
  if (format !== 'gguf') {
    const fields = all.record('config') ?? Fields.of(name, {})
    if (format !== 'safetensors') return hbmConfig(name, fields)
    const config = hfConfig(name, fields, all.list('unset'))
    const { stored } = familyFile(config.family).hf
    const vector = async (tensor: string) => [...(await readVector(requireTensor(model, tensor), signal))]
    return stored === undefined ? config : { ...config, ...(await stored(config, vector)) }
  }
  const factors = async (tensor: string) => {
    const found = tensors.get(tensor)
    return found && [...(await readVector(found, signal))]
  }
  return ggufConfig({
    name,
    metadata,
    // The table of an unknown architecture may have another name. Report the architecture, not the missing
    // table.
    embeddingRows: tensors.get('token_embd.weight')?.shape[0] ?? 0,
    hasOutput: tensors.has('output.weight'),
    kinds: new Set([...tensors.keys()].map((tensor) => tensor.replace(/^blk\.\d+\./, ''))),
    ropeFactors: {
      plain: await factors(ROPE_FACTORS),
      short: await factors(SHORT_FACTORS),
      long: await factors(LONG_FACTORS),
    },
  })
}
