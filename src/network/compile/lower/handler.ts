// What the handlers of operators share: their type and their operands.
import { hasInput, type Node } from '../../onnx/ir/graph.ts'
import type { LoopOperator } from '../../onnx/operator-table.ts'
import type { Ref } from '../loops/loops.ts'
import type { Lowering } from './lowering/lowering.ts'

/** Lowers a node and names its outputs. */
export type Handler = (lowering: Lowering, node: Node) => void

/** The handlers for one subject. Only operators whose row in the table says `loops` have a handler. */
export type SomeHandlers = Readonly<Partial<Record<LoopOperator, Handler>>>

export const output = (node: Node): string => node.outputs[0]!
export const first = (lowering: Lowering, node: Node): Ref => lowering.values.ref(node, node.inputs[0]!)

/** An optional input. */
export const optional = (lowering: Lowering, node: Node, index: number): Ref | undefined =>
  hasInput(node, index) ? lowering.values.ref(node, node.inputs[index]!) : undefined
