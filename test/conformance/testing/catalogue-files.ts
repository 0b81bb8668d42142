// Files for a fake hub. In: the catalogue. Out: a tiny random model of the right architecture at the path of
// every file in the catalogue.
import { CATALOGUE, type CatalogueModel } from '../../../src/core/store/catalogue.ts'
import { hubUrl, parseHubAddress } from '../../../src/core/store/hub.ts'
import { byteLevelSpec } from '../../../src/core/text/testing/tiny.ts'
import { familyCases } from './families/family-cases.ts'
import { drawFamily, familyGguf } from './families/family-files.ts'
import { ggufFile } from './model-files.ts'
import { randomLlama } from './random-llama.ts'
import {
  type RandomRecurrent,
  type RecurrentFamily,
  randomRecurrent,
  recurrentGguf,
  recurrentSafetensors,
} from './random-recurrent.ts'
import type { RandomTensor } from './writers/random-tensor.ts'

/** Long enough for a chat. */
const CONTEXT = 4096
const FAMILIES = familyCases({
  hidden: 64,
  heads: 4,
  kvHeads: 2,
  headDim: 16,
  wide: 96,
  context: CONTEXT,
})
const SEED = 5

/** By path on the hub, without a leading slash. */
export async function catalogueFiles(): Promise<Record<string, Uint8Array>> {
  const files = await Promise.all(
    CATALOGUE.map(async (model) => {
      const parts = parseHubAddress(model.address)
      if (parts === undefined) throw new Error(`${model.id} has no hub address`)
      const path = new URL(hubUrl(parts)).pathname.slice(1)
      const stored = await filesOf(model, parts.file !== undefined)
      return stored.map(([name, bytes]) => [path + name, bytes] as const)
    }),
  )
  return Object.fromEntries(files.flat())
}

/** File names below the address; empty if the address itself names the file. */
async function filesOf(
  { architecture }: CatalogueModel,
  isOneFile: boolean,
): Promise<(readonly [string, Uint8Array])[]> {
  if (isOneFile) return [['', await gguf(architecture)]]
  if (architecture !== 'mamba') throw new Error(`no folder of ${architecture}`)
  const folder = recurrentSafetensors(recurrent('mamba'))
  return Promise.all(folder.map(async (file) => [file.name, await bytesOf(file)] as const))
}

async function gguf(architecture: string): Promise<Uint8Array> {
  switch (architecture) {
    case 'llama':
    case 'qwen2': {
      const model = randomLlama({
        family: architecture,
        seed: SEED,
        gain: 1.6,
        speaks: true,
        contextLength: CONTEXT,
      })
      return bytesOf(await ggufFile(model))
    }
    case 'granitehybrid':
      return bytesOf(await recurrentGguf(recurrent('granitehybrid')))
    default: {
      const one = FAMILIES.find(({ family }) => family === architecture)
      if (one === undefined) throw new Error(`no random model of ${architecture}`)
      const weights = [...drawFamily(one, SEED)].map(
        ([name, tensor]) => [name, talkative(name, tensor)] as const,
      )
      return familyGguf(one, new Map(weights))
    }
  }
}

function recurrent(family: RecurrentFamily): RandomRecurrent {
  const model = randomRecurrent(family, SEED)
  return {
    ...model,
    tensors: model.tensors.map((tensor) => ({ ...tensor, ...talkative(tensor.gguf, tensor) })),
  }
}

/** Gives special tokens, line breaks and spaces the logit 0, so that no answer is empty. */
function talkative(name: string, { shape, values }: RandomTensor): RandomTensor {
  if (!/^(model\.embed_tokens|lm_head|token_embd|output)\.weight$/.test(name)) return { shape, values }
  const width = shape[1] ?? 0
  const { tokens } = byteLevelSpec()
  return {
    shape,
    values: values.map((value, at) => (/^(<.*>|Ċ|Ġ)$/.test(tokens[Math.floor(at / width)]!) ? 0 : value)),
  }
}

const bytesOf = async (file: File): Promise<Uint8Array> => new Uint8Array(await file.arrayBuffer())
