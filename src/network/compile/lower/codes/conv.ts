// The handler of Conv: dequantized codes are convolved in integers, everything else in floats.

import { convolve, sidesOf } from '../convolutions/windows.ts'
import type { Handler, SomeHandlers } from '../handler.ts'
import { convolveCodes } from './code-windows.ts'

const conv: Handler = (lowering, node) => {
  if (!convolveCodes(lowering, node)) convolve(lowering, node, sidesOf(lowering, node))
}

export const CONV_HANDLERS = { Conv: conv } satisfies SomeHandlers
