// Evaluators of the operators that reading a model never computes. Networks load them with the first node that
// runs between programs.

import type { Evaluators } from './evaluate.ts'
import { ACTIVATIONS } from './evaluators/activations.ts'
import { FUSED } from './evaluators/fused.ts'
import { IMAGES } from './evaluators/images.ts'
import { NORMS } from './evaluators/norms.ts'
import { PRODUCTS } from './evaluators/products.ts'
import { RECURRENT } from './evaluators/recurrent.ts'

/** One for each row of the operator table that says `script`. */
export const EVALUATORS: Evaluators = new Map([
  ...ACTIVATIONS,
  ...FUSED,
  ...IMAGES,
  ...NORMS,
  ...PRODUCTS,
  ...RECURRENT,
])
