// The table of all families, by name. The common ones are here; the others are in rare/table.ts, which a page
// loads when a file needs one of them.
import { HalfbyteError } from '../base/errors.ts'
import type { ModelFile } from '../formats/readers.ts'
import type { Graph } from '../graph/nodes.ts'
import { headNormsOf } from './blocks/parts.ts'
import type { Family, ModelConfig } from './config/config.ts'
import { decoder } from './decoder.ts'
import { gemma, gemma2, gemma3 } from './families/gemma.ts'
import { lfm2 } from './families/lfm2.ts'
import { llama, mistral3, smollm3 } from './families/llama.ts'
import { phi3 } from './families/phi3.ts'
import { qwen2, qwen2vl, qwen3, qwen3moe } from './families/qwen.ts'
import type { FamilyFile } from './family.ts'
import { RARE } from './rare/names.ts'
import type * as table from './rare/table.ts'

/** Common families by name, each built by its own file. */
const COMMON: Readonly<Record<string, FamilyFile>> = {
  llama,
  qwen2,
  qwen2vl,
  qwen3,
  qwen3moe,
  gemma2,
  gemma3,
  phi3,
  smollm3,
  lfm2,
  gemma,
  mistral3,
}

export const FAMILIES: readonly Family[] = [...Object.keys(COMMON), ...RARE]

/** The common families, plus the rare ones once they are loaded. */
let loaded = COMMON

/** Adds the families of `rare/table.ts`. */
export function addRareFamilies({ RARE_FAMILIES }: typeof table): void {
  loaded = { ...COMMON, ...RARE_FAMILIES }
}

/** Loads the rare families with the model's own loader. Rejects with the loader's error. */
export async function loadRareFamilies({ loadFamilies }: Pick<ModelFile, 'loadFamilies'>): Promise<void> {
  if (loaded === COMMON && loadFamilies !== undefined) addRareFamilies((await loadFamilies()) as typeof table)
}

/**
 * Throws `internal` for a name that no reader should have accepted, and for a rare family that is not loaded.
 */
export function familyFile(family: Family): FamilyFile {
  const file = loaded[family]
  if (file !== undefined) return file
  throw new HalfbyteError(
    'internal',
    `the family ${family} ${FAMILIES.includes(family) ? 'is not loaded' : 'does not exist'}`,
  )
}

/** The first loaded family for which `matches` returns true. */
export const findFamily = (matches: (file: FamilyFile, family: Family) => boolean): Family | undefined =>
  Object.keys(loaded).find((family) => matches(familyFile(family), family))

/**
 * How stored keys move to other positions. `rotated`: they are rotated by the distance. `relative`: they do
 * not depend on their position. `fixed`: they cannot be moved, because learned position embeddings are part
 * of them or because they were normalised after their rotation; their text must be read again. Encoders,
 * vision towers and families with only recurrent layers have no such keys and are `relative`.
 */
type KeyShift = 'rotated' | 'relative' | 'fixed'

export function keyShiftOf(config: ModelConfig): KeyShift {
  const traits = loaded[config.family]?.traits
  if (traits === undefined) return 'relative'
  const { positions } = traits
  switch (positions) {
    case 'rope':
      return headNormsOf(config, traits) === 'rotated' ? 'fixed' : 'rotated'
    case 'alibi':
      return 'relative'
    case 'learned':
      return 'fixed'
    default:
      return positions satisfies never
  }
}

/** The graph of one step of the model, before any passes. */
export function buildGraph(config: ModelConfig): Graph {
  const { build, traits } = familyFile(config.family)
  return build === undefined ? decoder(config, traits) : build(config, decoder)
}
