// Evaluators of operators that never have to be computed while a model is read. Networks load them with the
// first node that runs between programs.

import type { Evaluators } from './evaluate.ts'
import { ACTIVATIONS } from './evaluators/activations.ts'
import { BOXES } from './evaluators/boxes.ts'
import { CODE_CONVOLUTIONS } from './evaluators/code-convolutions.ts'
import { FUSED } from './evaluators/fused.ts'
import { IMAGES } from './evaluators/images.ts'
import { LOSSES } from './evaluators/losses.ts'
import { NORMS } from './evaluators/norms.ts'
import { PICKS } from './evaluators/picks.ts'
import { PRODUCTS } from './evaluators/products.ts'
import { RECURRENT } from './evaluators/recurrent.ts'
import { SAMPLED } from './evaluators/sample.ts'
import { SIGNALS } from './evaluators/signals.ts'
import { SEQUENCES } from './evaluators/values/sequences.ts'
import { STRINGS } from './evaluators/values/strings.ts'

/** One for each operator whose entry has none. */
export const EVALUATORS: Evaluators = new Map([
  ...ACTIVATIONS,
  ...BOXES,
  ...CODE_CONVOLUTIONS,
  ...FUSED,
  ...IMAGES,
  ...LOSSES,
  ...NORMS,
  ...PICKS,
  ...PRODUCTS,
  ...RECURRENT,
  ...SAMPLED,
  ...SEQUENCES,
  ...SIGNALS,
  ...STRINGS,
])
