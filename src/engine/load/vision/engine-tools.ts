// The engine code that the vision script uses, so that it does not contain a copy.
import type { roleOf, weightOf } from '../../../core/arch/tensors/names.ts'
import type { RowsView } from '../../../core/generate/schedule/step-buffer.ts'
import type { graphBuilder } from '../../../core/graph/builder.ts'
import type { compile } from '../../../core/graph/compile-graph.ts'
import type { SequenceState } from '../../../core/state/sequence-state.ts'
import type { chooseEncoding } from '../../../core/weights/choose-encoding.ts'
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
