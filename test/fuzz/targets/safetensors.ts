// Target: safetensors. In: hub folders, plain, quantised and sharded, with changed headers, indexes and
// bytes. Out: how far the reader gets.

import { openModel } from '../../../src/core/arch/open-model.ts'
import { openTokenizer } from '../../../src/engine/load/model-text.ts'
import { prepareModel } from '../../../src/engine/load/prepare.ts'
import { type StoredTensor, safetensorsBytes } from '../../conformance/testing/writers/safetensors-writer.ts'
import type { Random } from '../../helpers/random.ts'
import { type Input, textOf } from '../input.ts'
import { inputOf, SAID, safetensorsModels, sourcesOf, speak } from '../models.ts'
import { type Tree, textOfTree, treeOf } from '../mutate/json-tree.ts'
import { mutateBytes } from '../mutate/mutate-bytes.ts'
import { mutateJson } from '../mutate/mutate-json.ts'
import { quantizedModels } from '../quantized.ts'
import type { Target } from '../target.ts'

/** Share of the inputs with a plan that are loaded and run. */
const LOADED = 1 / 40

/** A folder, with its parts parsed only once. */
interface Folder {
  readonly files: Input
  readonly trees: ReadonlyMap<string, Tree>
  /** The header of each safetensors file, and the data after it. */
  readonly weights: ReadonlyMap<string, { readonly header: Tree; readonly data: Uint8Array }>
}

export async function openTarget(): Promise<Target> {
  const folders: Folder[] = []
  for (const { files } of safetensorsModels().slice(0, 4)) folders.push(folderOf(await inputOf(files)))
  for (const files of quantizedModels()) folders.push(folderOf(await inputOf(files)))
  folders.push(folderOf(inShards(folders[0] as Folder)))
  const [small] = folders.map(withoutTokenizer)
  const headers = folders.flatMap(({ weights }) => [...weights.values()].map(({ header }) => header))
  return {
    draw(random) {
      const folder = random.chance(0.7) ? (small as Folder) : random.pick(folders)
      const depth = random.chance(LOADED) ? 'load' : 'plan'
      return { ...drawFolder(random, folder, headers), depth }
    },
    run,
  }
}

async function run(input: Input): Promise<string> {
  const file = await openModel(sourcesOf(input))
  await prepareModel(file, { weights: 'auto' })
  if (file.tokenizer !== undefined) openTokenizer(file).encode(SAID)
  if (textOf(input, 'depth') !== 'load') return 'planned'
  await speak(input)
  return 'ran'
}

function drawFolder(random: Random, { files, trees, weights }: Folder, headers: readonly Tree[]): Input {
  const changed: Record<string, string | Uint8Array> = { ...files }
  for (let left = random.few(3); left > 0; left--) {
    const [name, { header, data }] = random.pick([...weights])
    const kind = random.unit()
    if (kind < 0.55) changed[name] = fileOf(textOfTree(mutateJson(random, header, headers)), data)
    else if (kind < 0.75) {
      const bytes = files[name] as Uint8Array
      changed[name] = mutateBytes(random, bytes, [{ at: 0, bytes: 8 }], bytes.length - data.length)
    } else if (trees.size > 0) {
      const [json, tree] = random.pick([...trees])
      if (random.chance(0.05)) delete changed[json]
      else changed[json] = textOfTree(mutateJson(random, tree, [...trees.values()]))
    }
  }
  return changed
}

function folderOf(files: Input): Folder {
  const trees = new Map<string, Tree>()
  const weights = new Map<string, { header: Tree; data: Uint8Array }>()
  for (const [name, part] of Object.entries(files)) {
    if (typeof part === 'string') trees.set(name, treeOf(JSON.parse(part)))
    else {
      const end = 8 + Number(new DataView(part.buffer, part.byteOffset).getBigUint64(0, true))
      const header = treeOf(JSON.parse(new TextDecoder().decode(part.subarray(8, end))))
      weights.set(name, { header, data: part.subarray(end) })
    }
  }
  return { files, trees, weights }
}

function withoutTokenizer({ files }: Folder): Folder {
  return folderOf(Object.fromEntries(Object.entries(files).filter(([name]) => !name.startsWith('tokenizer'))))
}

function fileOf(header: string, data: Uint8Array): Uint8Array {
  const json = new TextEncoder().encode(header)
  const bytes = new Uint8Array(8 + json.length + data.length)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(json.length), true)
  bytes.set(json, 8)
  bytes.set(data, 8 + json.length)
  return bytes
}

/** The model in two files and their index. */
function inShards({ files, weights }: Folder): Input {
  const [only] = weights.values()
  const all = JSON.parse(textOfTree(only?.header ?? ({} as Tree))) as Record<
    string,
    { dtype: 'F16'; shape: number[]; data_offsets: [number, number] }
  >
  const halves: Record<string, StoredTensor>[] = [{}, {}]
  const weight_map: Record<string, string> = {}
  const names = ['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors']
  for (const [index, [name, entry]] of Object.entries(all)
    .filter(([name]) => name !== '__metadata__')
    .entries()) {
    const {
      dtype,
      shape,
      data_offsets: [begin, end],
    } = entry
    halves[index % 2]![name] = { dtype, shape, data: only!.data.subarray(begin, end) }
    weight_map[name] = names[index % 2]!
  }
  return {
    ...Object.fromEntries(names.map((name, index) => [name, safetensorsBytes(halves[index]!)])),
    'model.safetensors.index.json': JSON.stringify({ metadata: { total_size: 1 }, weight_map }),
    'config.json': files['config.json'] as string,
  }
}
