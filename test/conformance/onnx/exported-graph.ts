// Exports as graphs. In: the name of an export in test/conformance/onnx/exports. Out: its graph after the
// passes.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { bufferSource } from '../../../src/core/base/bytes.ts'
import type { Graph } from '../../../src/network/onnx/ir/graph.ts'
import { runPasses } from '../../../src/network/onnx/passes/pass.ts'
import { PASSES } from '../../../src/network/onnx/passes.ts'
import { readModel } from '../../../src/network/onnx/read-model.ts'

/** Constants of more than `inlineBytes` stay in the file. Default: the limit for reading models. */
export async function exportedGraph(name: string, inlineBytes?: number): Promise<Graph> {
  const file = join(import.meta.dirname, 'exports', name, 'model.onnx')
  const source = bufferSource('model.onnx', new Uint8Array(readFileSync(file)))
  const { graph } = await readModel(source, { inlineBytes })
  return runPasses(graph, PASSES).graph
}
