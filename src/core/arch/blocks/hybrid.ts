// The mixer of hybrids: each layer has attention, recurrent state, or both.
import { attention } from './attention.ts'
import { attends, isRecurrent, type Mixer } from './parts.ts'

/** `recurrent`: the mixer of layers with recurrent state. If a layer has both, their outputs are added. */
export const hybrid =
  (recurrent: Mixer): Mixer =>
  (parts, layer, input) => {
    if (!attends(parts.config, layer)) return recurrent(parts, layer, input)
    const attended = attention(parts, layer, input)
    if (!isRecurrent(parts.config, layer)) return attended
    return parts.b.add(`layers.${layer}.mixed`, attended, recurrent(parts, layer, input))
  }
