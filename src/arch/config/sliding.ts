// Layers of a kind. In: how a header tells them. Out: those that have a window, those that attend.
import type { ModelConfig, WindowConfig } from './config.ts'
import type { Fields } from './fields.ts'

/**
 * `pattern`: a fact for each layer, or a period: all but the last of so many layers have the window, with 0
 * all of them. A window that no context outgrows is none.
 */
export function windowOf(
  { layers, contextLength }: Pick<ModelConfig, 'layers' | 'contextLength'>,
  positions: number,
  pattern: number | readonly boolean[],
): WindowConfig | undefined {
  if (positions === 0 || positions >= contextLength) return undefined
  const has = (layer: number): boolean =>
    typeof pattern === 'number' ? pattern === 0 || layer % pattern < pattern - 1 : pattern[layer] === true
  const those = layersOf({ layers }).filter(has)
  return those.length === 0 ? undefined : { positions, layers: those }
}

/** Indices of a model's layers, of a number that may be anything yet. */
export const layersOf = ({ layers }: Pick<ModelConfig, 'layers'>): number[] =>
  Array.from({ length: Math.min(layers, 1 << 10) }, (_, layer) => layer)

/** Of a hybrid in GGUF: the layers that have key and value heads. */
export function layersWithHeads(fields: Fields): number[] {
  const perLayer = fields.numberList('attention.head_count_kv')
  return [...perLayer.keys()].filter((layer) => (perLayer[layer] ?? 0) > 0)
}
