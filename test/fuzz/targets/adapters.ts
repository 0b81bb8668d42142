// Target: adapters. In: LoRA files as PEFT and llama.cpp write them, changed. Out: the tiny model with the
// adapter merged, read completely.

import type { ModelConfig } from '../../../src/core/arch/config/config.ts'
import { ALL_READERS, openModel } from '../../../src/core/arch/open-model.ts'
import { readConfig } from '../../../src/core/arch/read-config.ts'
import { resolveWeights, type Weights } from '../../../src/core/arch/tensors/names.ts'
import { openAdapter } from '../../../src/core/formats/open-adapter.ts'
import { adaptWeights } from '../../../src/core/weights/adapt.ts'
import { ggufFile, safetensorsFiles } from '../../conformance/testing/model-files.ts'
import {
  ggufLora,
  peftFiles,
  randomLora,
  withMagnitudes,
} from '../../conformance/testing/writers/lora-files.ts'
import type { Random } from '../../helpers/random.ts'
import { layoutOf } from '../gguf-layout.ts'
import { type Input, textOf } from '../input.ts'
import { bytesOfFile, inputOf, sourcesOf, tinyLlama } from '../models.ts'
import { textOfTree, treeOf } from '../mutate/json-tree.ts'
import { mutateBytes } from '../mutate/mutate-bytes.ts'
import { mutateJson } from '../mutate/mutate-json.ts'
import type { Target } from '../target.ts'

/** One in this many is merged and read; for the others, only names and shapes are. */
const READ = 1 / 10

export async function openTarget(): Promise<Target> {
  const model = tinyLlama()
  const lora = randomLora(model.weights, /\.(q|k|o|up)_proj/, 2, 5)
  const gguf = layoutOf(await bytesOfFile(await ggufLora(lora, model.config.head_dim)))
  const kinds = [
    await peftKind(peftFiles(lora)),
    await peftKind(peftFiles(withMagnitudes(lora, 6), PATTERNS)),
  ]
  const bases = {
    gguf: await baseOf([await ggufFile(model)]),
    safetensors: await baseOf(safetensorsFiles(model)),
  }
  return {
    draw(random): Input {
      if (random.chance(0.45)) {
        return {
          'adapter.gguf': mutateBytes(random, gguf.bytes, gguf.fields, gguf.headBytes),
          depth: depth(random),
        }
      }
      const { weights, end, header, settings } = random.pick(kinds)
      const kind = random.unit()
      return {
        depth: depth(random),
        'adapter_model.safetensors':
          kind < 0.4
            ? withHeader(textOfTree(mutateJson(random, header)), weights.subarray(end))
            : kind < 0.6
              ? mutateBytes(random, weights, [{ at: 0, bytes: 8 }], end)
              : weights,
        'adapter_config.json': textOfTree(kind < 0.6 ? settings : mutateJson(random, settings)),
      }
    },
    run: (input) => run(input, bases),
  }
}

const PATTERNS = {
  use_dora: true,
  use_rslora: true,
  rank_pattern: { 'mlp.up_proj': 2 },
  alpha_pattern: { '.*layers\\.[0-9]\\..*(q|k)_proj': 3, '^model.layers.0.self_attn.o_proj': 5 },
}

async function peftKind(adapter: readonly File[]) {
  const files = await inputOf(adapter)
  const weights = files['adapter_model.safetensors'] as Uint8Array
  const end = 8 + Number(new DataView(weights.buffer, weights.byteOffset).getBigUint64(0, true))
  const header = treeOf(JSON.parse(new TextDecoder().decode(weights.subarray(8, end))))
  const settings = treeOf(JSON.parse(files['adapter_config.json'] as string))
  return { weights, end, header, settings }
}

const depth = (random: Random): string => (random.chance(READ) ? 'read' : 'fit')

interface Base {
  readonly config: ModelConfig
  readonly weights: Weights
}

async function baseOf(files: readonly File[]): Promise<Base> {
  const file = await openModel(sourcesOf(await inputOf(files)))
  const config = await readConfig(file)
  return { config, weights: resolveWeights(file, config) }
}

async function run(input: Input, bases: Readonly<Record<'gguf' | 'safetensors', Base>>): Promise<string> {
  const adapter = await openAdapter(sourcesOf(input), ALL_READERS)
  const { config, weights } = bases[adapter.format]
  const { weights: adapted } = adaptWeights(weights, config, [{ adapter, scale: 1 }])
  if (textOf(input, 'depth') !== 'read') return 'fitted'
  for (const { source, offset, byteLength } of adapted.values()) await source.read(offset, byteLength)
  return 'merged'
}

function withHeader(header: string, data: Uint8Array): Uint8Array {
  const json = new TextEncoder().encode(header)
  const bytes = new Uint8Array(8 + json.length + data.length)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(json.length), true)
  bytes.set(json, 8)
  bytes.set(data, 8 + json.length)
  return bytes
}
