// What the script of vision uses of the engine that loads it, so that it need not bring a copy.
import type { roleOf, weightOf } from '../../../arch/tensors/names.ts'
import type { RowsView } from '../../../generate/schedule/step-buffer.ts'
import type { graphBuilder } from '../../../graph/builder.ts'
import type { compile } from '../../../graph/compile-graph.ts'
import type { SequenceState } from '../../../state/sequence-state.ts'
import type { chooseEncoding } from '../../../weights/choose-encoding.ts'
import type { placeModel } from '../place-model.ts'

export interface EngineTools {
  readonly graphBuilder: typeof graphBuilder
  readonly compile: typeof compile
  readonly chooseEncoding: typeof chooseEncoding
  readonly roleOf: typeof roleOf
  readonly weightOf: typeof weightOf
  readonly placeModel: typeof placeModel
  readonly RowsView: typeof RowsView
  readonly SequenceState: typeof SequenceState
}
