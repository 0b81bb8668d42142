// Opening ONNX models. In: the files of an export. Out: the model as an engine reads it.
import type { ByteSource } from '../../../src/core/base/bytes.ts'
import { graphBuilder } from '../../../src/core/graph/builder.ts'
import { type OnnxOptions, openOnnx } from '../../../src/network/onnx/open-model.ts'

export const openGraph = (sources: readonly ByteSource[], options: Omit<OnnxOptions, 'newGraph'> = {}) =>
  openOnnx(sources, { ...options, newGraph: graphBuilder })
