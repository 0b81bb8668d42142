// Target: .hbm packs. In: packs with correct hashes and a changed header, and packs with changed bytes. Out:
// how far the reader gets.
import { ggufFile, safetensorsFiles } from '../../conformance/testing/model-files.ts'
import { randomRecurrent, recurrentSafetensors } from '../../conformance/testing/random-recurrent.ts'
import { readModel, tinyLlama } from '../models.ts'
import { textOfTree } from '../mutate/json-tree.ts'
import { mutateBytes } from '../mutate/mutate-bytes.ts'
import { mutateJson } from '../mutate/mutate-json.ts'
import { forgedPack, type Pack, packOf } from '../packs.ts'
import type { Target } from '../target.ts'

/** Share of the inputs with a plan that are loaded and run. */
const LOADED = 1 / 40

export async function openTarget(): Promise<Target> {
  const packs: Pack[] = []
  for (const files of [
    [await ggufFile(tinyLlama())],
    safetensorsFiles(tinyLlama('qwen2')),
    recurrentSafetensors(randomRecurrent('mamba2', 1)),
  ]) {
    packs.push(await packOf(files))
  }
  const headers = packs.map(({ header }) => header)
  return {
    draw(random) {
      const { bytes, header, data } = random.pick(random.chance(0.7) ? packs.slice(0, 1) : packs)
      const depth = random.chance(LOADED) ? 'load' : 'plan'
      const isForged = random.chance(0.85)
      const changed = isForged
        ? forgedPack(textOfTree(mutateJson(random, header, headers)), data)
        : mutateBytes(
            random,
            bytes,
            [4, 8, 12, 16, 20].map((at) => ({ at, bytes: 4 })),
            bytes.length - data.length,
          )
      return { 'model.hbm': changed, depth }
    },
    run: readModel,
  }
}
