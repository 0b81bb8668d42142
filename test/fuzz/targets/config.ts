// Target: configurations. In: config.json, a pack's configuration and GGUF keys of every family, changed,
// with tensors that fit or do not. Out: the configuration, and for some the plan.

import { openModel } from '../../../src/core/arch/open-model.ts'
import { readConfig } from '../../../src/core/arch/read-config.ts'
import { resolveWeights } from '../../../src/core/arch/tensors/names.ts'
import { bufferSource } from '../../../src/core/base/bytes.ts'
import { readJson, withoutNulls } from '../../../src/core/formats/json-files.ts'
import type { ModelFile, ModelFormat } from '../../../src/core/formats/readers.ts'
import type { MetaValue, TensorIndex, TensorInfo } from '../../../src/core/formats/tensors.ts'
import { prepareModel } from '../../../src/engine/load/prepare.ts'
import { bytesOf, type Input, textOf } from '../input.ts'
import { ggufModels, inputOf, type NamedModel, safetensorsModels, sourcesOf } from '../models.ts'
import { type Tree, textOfTree, treeOf } from '../mutate/json-tree.ts'
import { mutateJson } from '../mutate/mutate-json.ts'
import type { Target } from '../target.ts'

/** Plans take a hundred times as long as configurations. */
const PLANNED = 1 / 30

interface Good {
  readonly format: ModelFormat
  readonly family: string
  readonly config: Tree
  readonly shapes: Tree
}

export async function openTarget(): Promise<Target> {
  const goods: Good[] = []
  for (const model of safetensorsModels()) goods.push(...(await goodOf(model)))
  for (const model of await ggufModels()) goods.push(...(await goodOf(model)))
  const byFormat = Map.groupBy(goods, ({ format }) => format)
  return {
    draw(random) {
      const { format, family, config, shapes } = random.pick(goods)
      const donors = byFormat.get(format)!.map((good) => good.config)
      const isShapes = random.chance(0.1)
      return {
        format,
        family,
        config: textOfTree(isShapes ? config : mutateJson(random, config, donors)),
        shapes: textOfTree(isShapes || random.chance(0.1) ? mutateJson(random, shapes) : shapes),
        depth: random.chance(PLANNED) ? 'plan' : 'config',
      }
    },
    run,
  }
}

async function run(input: Input): Promise<string> {
  const format = textOf(input, 'format') as ModelFormat
  const metadata = withoutNulls(await readJson(bufferSource('config.json', bytesOf(input, 'config'))))
  const file: ModelFile = {
    format,
    name: 'model',
    tensors: tensorsOf(textOf(input, 'shapes')),
    metadata: new Map<string, MetaValue>(
      format === 'gguf'
        ? Object.entries(metadata).map(([key, value]) => [key, flat(value)])
        : [['config', metadata]],
    ),
  }
  await readConfig(file)
  if (textOf(input, 'depth') !== 'plan') return 'read'
  await prepareModel(file, { weights: 'auto' })
  return 'planned'
}

/** GGUF has no objects. */
const flat = (value: MetaValue): MetaValue =>
  typeof value !== 'object' ? value : Array.isArray(value) ? value.map(flat) : JSON.stringify(value)

/** The file's configuration, in its own format and in a pack's. */
async function goodOf({ family, files }: NamedModel): Promise<Good[]> {
  const file = await openModel(sourcesOf(await inputOf(files)))
  const isGguf = file.format === 'gguf'
  const keys = [...file.metadata].filter(
    ([key]) => !/^tokenizer\.ggml\.(tokens|merges|token_type|scores)/.test(key),
  )
  const stated = isGguf ? Object.fromEntries(keys) : file.metadata.get('config')
  const own: Good = { format: file.format, family, config: treeOf(stated), shapes: shapesOf(file.tensors) }
  if (isGguf) return [own]
  const config = await readConfig(file)
  const shapes = shapesOf(resolveWeights(file, config))
  return [own, { format: 'hbm', family, config: treeOf(config), shapes }]
}

const shapesOf = (tensors: TensorIndex): Tree =>
  treeOf(Object.fromEntries([...tensors].map(([name, { shape }]) => [name, shape])))

const EMPTY = bufferSource('model', new Uint8Array(1 << 16))

/** Returns undefined if there are numbers that JSON cannot express. */
function shapesIn(text: string): object {
  try {
    return Object(JSON.parse(text))
  } catch {
    return {}
  }
}

function tensorsOf(text: string): TensorIndex {
  const tensors = new Map<string, TensorInfo>()
  for (const [name, shape] of Object.entries(shapesIn(text))) {
    // The file readers accept no other shapes.
    const isShape =
      Array.isArray(shape) &&
      shape.length > 0 &&
      shape.length <= 4 &&
      shape.every((size) => Number.isSafeInteger(size) && size > 0)
    if (!isShape) continue
    const byteLength = shape.reduce((product, size) => product * size, 4)
    tensors.set(name, { name, dtype: 'F32', shape, source: EMPTY, offset: 0, byteLength })
  }
  return tensors
}
