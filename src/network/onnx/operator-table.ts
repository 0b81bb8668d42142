// The table of operators: which of them are evaluated before a run, which become part of a decoder's step, and
// how networks run them. The dispatches of all three are typed by it.
import type { Node } from './ir/graph.ts'

/**
 * What evaluators are for. `control`: sizes, positions, masks and tables, which exports compute from the shapes
 * of their inputs. `weights`: what exports compute from constants alone. Operators without an evaluator only
 * occur on the way from inputs to outputs, where their loops run; tests have evaluators for those.
 */
export type Evaluated = 'control' | 'weights'

/**
 * How networks run an operator. `body`: arithmetic on each element. `view`: the same elements under the dims
 * that its shape rule gives. `loops`: a handler makes loops and views. `passes`: passes replace it as soon as
 * sizes are known. `sizes`: the same, where the sizes of its outputs do not depend on what is computed.
 * `fallback`: only another runtime does.
 */
export type Lowered = 'body' | 'view' | 'loops' | 'passes' | 'sizes' | 'fallback'

export interface OperatorRow {
  readonly evaluate?: Evaluated
  /** What it is part of in a decoder's step. */
  readonly raise?: string
  /** Absent for operators that have no entry, because only decoders of one exporter have them. */
  readonly lower?: Lowered
}

/** By `operatorName`. */
export const OPERATOR_TABLE = {
  Abs: { evaluate: 'control', lower: 'body' },
  Acos: { evaluate: 'control', lower: 'fallback' },
  Acosh: { evaluate: 'control', lower: 'fallback' },
  Add: { evaluate: 'control', raise: 'rows, biases, masks, norms', lower: 'body' },
  And: { evaluate: 'control', lower: 'body' },
  ArgMax: { evaluate: 'control', lower: 'loops' },
  ArgMin: { evaluate: 'control', lower: 'loops' },
  Asin: { evaluate: 'control', lower: 'fallback' },
  Asinh: { evaluate: 'control', lower: 'fallback' },
  Atan: { evaluate: 'control', lower: 'fallback' },
  Atanh: { evaluate: 'control', lower: 'fallback' },
  Attention: { raise: 'attention', lower: 'loops' },
  AveragePool: { evaluate: 'control', lower: 'loops' },
  BatchNormalization: { evaluate: 'control', lower: 'loops' },
  BitShift: { evaluate: 'control', lower: 'fallback' },
  BitwiseAnd: { evaluate: 'control', lower: 'body' },
  BitwiseNot: { evaluate: 'control', lower: 'body' },
  BitwiseOr: { evaluate: 'control', lower: 'body' },
  BitwiseXor: { evaluate: 'control', lower: 'body' },
  Cast: { evaluate: 'control', raise: 'rows, weights', lower: 'body' },
  CastLike: { evaluate: 'control', lower: 'body' },
  Ceil: { evaluate: 'control', lower: 'body' },
  Celu: { evaluate: 'control', lower: 'body' },
  Clip: { evaluate: 'control', lower: 'body' },
  Concat: { evaluate: 'control', raise: 'heads, states', lower: 'loops' },
  Constant: { evaluate: 'control', lower: 'passes' },
  ConstantOfShape: { evaluate: 'control', lower: 'passes' },
  Conv: { evaluate: 'control', raise: 'convolutions of states', lower: 'loops' },
  ConvTranspose: { evaluate: 'control', lower: 'loops' },
  Cos: { evaluate: 'control', lower: 'body' },
  Cosh: { evaluate: 'control', lower: 'body' },
  CumProd: { evaluate: 'control', lower: 'fallback' },
  CumSum: { evaluate: 'control', lower: 'loops' },
  DepthToSpace: { evaluate: 'control', lower: 'loops' },
  DequantizeLinear: { evaluate: 'control', raise: 'codes', lower: 'loops' },
  Div: { evaluate: 'control', raise: 'norms, scores', lower: 'body' },
  Dropout: { evaluate: 'control', lower: 'body' },
  DynamicQuantizeLinear: { evaluate: 'control', raise: 'codes', lower: 'loops' },
  Einsum: { evaluate: 'control', raise: 'recurrences', lower: 'loops' },
  Elu: { evaluate: 'control', lower: 'body' },
  Equal: { evaluate: 'control', lower: 'body' },
  Erf: { evaluate: 'control', lower: 'body' },
  Exp: { evaluate: 'control', raise: 'recurrences', lower: 'body' },
  Expand: { evaluate: 'control', raise: 'heads', lower: 'loops' },
  Flatten: { evaluate: 'control', lower: 'view' },
  Floor: { evaluate: 'control', lower: 'body' },
  GRU: { evaluate: 'control', lower: 'loops' },
  Gather: { evaluate: 'control', raise: 'tables, heads', lower: 'loops' },
  GatherElements: { evaluate: 'control', lower: 'loops' },
  GatherND: { evaluate: 'control', lower: 'loops' },
  Gelu: { evaluate: 'control', raise: 'activations', lower: 'body' },
  Gemm: { evaluate: 'control', raise: 'products', lower: 'loops' },
  GlobalAveragePool: { evaluate: 'control', lower: 'loops' },
  GlobalMaxPool: { evaluate: 'control', lower: 'loops' },
  Greater: { evaluate: 'control', lower: 'body' },
  GreaterOrEqual: { evaluate: 'control', lower: 'body' },
  GroupNormalization: { evaluate: 'control', lower: 'loops' },
  HardSigmoid: { evaluate: 'control', lower: 'body' },
  HardSwish: { evaluate: 'control', lower: 'body' },
  Hardmax: { evaluate: 'control', lower: 'fallback' },
  Identity: { evaluate: 'control', raise: 'rows, weights', lower: 'body' },
  If: { evaluate: 'control', lower: 'passes' },
  InstanceNormalization: { evaluate: 'control', lower: 'loops' },
  IsInf: { evaluate: 'control', lower: 'body' },
  IsNaN: { evaluate: 'control', raise: 'masks', lower: 'body' },
  LSTM: { evaluate: 'control', lower: 'loops' },
  LayerNormalization: { evaluate: 'control', raise: 'norms', lower: 'loops' },
  LeakyRelu: { evaluate: 'control', lower: 'body' },
  Less: { evaluate: 'control', lower: 'body' },
  LessOrEqual: { evaluate: 'control', lower: 'body' },
  Log: { evaluate: 'control', lower: 'body' },
  LogSoftmax: { evaluate: 'control', lower: 'loops' },
  Loop: { evaluate: 'control', lower: 'passes' },
  MatMul: { evaluate: 'control', raise: 'products, scores', lower: 'loops' },
  MatMulInteger: { evaluate: 'control', raise: 'products of codes', lower: 'loops' },
  Max: { evaluate: 'control', lower: 'body' },
  MaxPool: { evaluate: 'control', lower: 'loops' },
  Mean: { evaluate: 'control', lower: 'body' },
  Min: { evaluate: 'control', lower: 'body' },
  Mish: { evaluate: 'control', lower: 'body' },
  Mod: { evaluate: 'control', lower: 'body' },
  Mul: { evaluate: 'control', raise: 'rows, gates, norms, rotations, scores', lower: 'body' },
  Neg: { evaluate: 'control', raise: 'rotations', lower: 'body' },
  NonZero: { evaluate: 'control', lower: 'sizes' },
  Not: { evaluate: 'control', lower: 'body' },
  OneHot: { evaluate: 'control', lower: 'loops' },
  Or: { evaluate: 'control', lower: 'body' },
  PRelu: { evaluate: 'control', lower: 'body' },
  Pad: { evaluate: 'control', lower: 'loops' },
  Pow: { evaluate: 'control', raise: 'norms', lower: 'body' },
  QLinearMatMul: { evaluate: 'control', lower: 'fallback' },
  QuantizeLinear: { evaluate: 'control', raise: 'codes', lower: 'loops' },
  RMSNormalization: { evaluate: 'control', raise: 'norms', lower: 'loops' },
  Range: { evaluate: 'control', lower: 'passes' },
  Reciprocal: { evaluate: 'control', raise: 'norms', lower: 'body' },
  ReduceL1: { evaluate: 'control', lower: 'loops' },
  ReduceL2: { evaluate: 'control', lower: 'loops' },
  ReduceLogSum: { evaluate: 'control', lower: 'loops' },
  ReduceLogSumExp: { evaluate: 'control', lower: 'loops' },
  ReduceMax: { evaluate: 'control', lower: 'loops' },
  ReduceMean: { evaluate: 'control', raise: 'norms', lower: 'loops' },
  ReduceMin: { evaluate: 'control', lower: 'loops' },
  ReduceProd: { evaluate: 'control', lower: 'loops' },
  ReduceSum: { evaluate: 'control', raise: 'recurrences', lower: 'loops' },
  ReduceSumSquare: { evaluate: 'control', lower: 'loops' },
  Relu: { evaluate: 'control', raise: 'activations', lower: 'body' },
  Reshape: { evaluate: 'control', raise: 'heads, weights', lower: 'view' },
  Resize: { evaluate: 'control', lower: 'loops' },
  RotaryEmbedding: { raise: 'rotations', lower: 'loops' },
  Round: { evaluate: 'control', lower: 'body' },
  Scan: { evaluate: 'control', lower: 'passes' },
  ScatterElements: { evaluate: 'control', lower: 'loops' },
  ScatterND: { evaluate: 'control', lower: 'loops' },
  Selu: { evaluate: 'control', lower: 'body' },
  Shape: { evaluate: 'control', lower: 'passes' },
  Sigmoid: { evaluate: 'control', raise: 'activations', lower: 'body' },
  Sign: { evaluate: 'control', lower: 'body' },
  SimplifiedLayerNormalization: { evaluate: 'control', raise: 'norms', lower: 'loops' },
  Sin: { evaluate: 'control', lower: 'body' },
  Sinh: { evaluate: 'control', lower: 'body' },
  Size: { evaluate: 'control', lower: 'passes' },
  Slice: { evaluate: 'control', raise: 'heads, rows', lower: 'loops' },
  Softmax: { evaluate: 'control', raise: 'scores', lower: 'loops' },
  Softplus: { evaluate: 'control', raise: 'recurrences', lower: 'body' },
  Softsign: { evaluate: 'control', lower: 'body' },
  SpaceToDepth: { evaluate: 'control', lower: 'loops' },
  Split: { evaluate: 'control', raise: 'heads, rows', lower: 'loops' },
  Sqrt: { evaluate: 'control', raise: 'norms', lower: 'body' },
  Squeeze: { evaluate: 'control', raise: 'heads', lower: 'view' },
  Sub: { evaluate: 'control', raise: 'norms', lower: 'body' },
  Sum: { evaluate: 'control', lower: 'body' },
  Swish: { evaluate: 'control', raise: 'activations', lower: 'body' },
  Tan: { evaluate: 'control', lower: 'body' },
  Tanh: { evaluate: 'control', raise: 'caps of scores', lower: 'body' },
  TensorScatter: { evaluate: 'control', lower: 'fallback' },
  ThresholdedRelu: { evaluate: 'control', lower: 'body' },
  Tile: { evaluate: 'control', raise: 'heads', lower: 'loops' },
  TopK: { evaluate: 'control', lower: 'loops' },
  Transpose: { evaluate: 'control', raise: 'heads, weights', lower: 'loops' },
  Trilu: { evaluate: 'control', lower: 'loops' },
  Unsqueeze: { evaluate: 'control', raise: 'heads', lower: 'view' },
  Where: { evaluate: 'control', raise: 'masks', lower: 'body' },
  Xor: { evaluate: 'control', lower: 'body' },
  'com.microsoft:Attention': { raise: 'attention' },
  'com.microsoft:BiasGelu': { evaluate: 'control', lower: 'body' },
  'com.microsoft:CausalConvWithState': { raise: 'convolutions of states', lower: 'fallback' },
  'com.microsoft:DynamicQuantizeMatMul': { evaluate: 'control', raise: 'products of codes', lower: 'loops' },
  'com.microsoft:EmbedLayerNormalization': { raise: 'tables' },
  'com.microsoft:FastGelu': { evaluate: 'control', raise: 'activations', lower: 'body' },
  'com.microsoft:FusedMatMul': { evaluate: 'control', lower: 'loops' },
  'com.microsoft:GatherBlockQuantized': { raise: 'tables', lower: 'loops' },
  'com.microsoft:Gelu': { evaluate: 'control', raise: 'activations', lower: 'body' },
  'com.microsoft:GroupQueryAttention': { raise: 'attention', lower: 'loops' },
  'com.microsoft:MatMulBnb4': { raise: 'products of codes', lower: 'fallback' },
  'com.microsoft:MatMulIntegerToFloat': { evaluate: 'control', lower: 'loops' },
  'com.microsoft:MatMulNBits': { raise: 'products of codes', lower: 'loops' },
  'com.microsoft:MultiHeadAttention': { raise: 'attention', lower: 'loops' },
  'com.microsoft:QuickGelu': { evaluate: 'control', raise: 'activations', lower: 'body' },
  'com.microsoft:RotaryEmbedding': { raise: 'rotations', lower: 'loops' },
  'com.microsoft:SimplifiedLayerNormalization': { raise: 'norms' },
  'com.microsoft:SkipLayerNormalization': { evaluate: 'control', raise: 'norms', lower: 'loops' },
  'com.microsoft:SkipSimplifiedLayerNormalization': { evaluate: 'control', raise: 'norms', lower: 'loops' },
} as const satisfies Readonly<Record<string, OperatorRow>>

type Table = typeof OPERATOR_TABLE
type Having<Part extends OperatorRow> = {
  [Name in keyof Table]: Table[Name] extends Part ? Name : never
}[keyof Table]

/** Operators that have handlers in `raise/handlers.ts`. */
export type RaisedOperator = Having<{ readonly raise: string }>
/** Operators that have bodies in `compile/lower/bodies.ts`. */
export type BodyOperator = Having<{ readonly lower: 'body' }>
/** Operators that have handlers in `compile/lower/`. */
export type LoopOperator = Having<{ readonly lower: 'loops' }>

/** How tables name a node's operator: with its domain, where that is not ONNX's own. */
export const operatorName = ({ domain, op }: Pick<Node, 'domain' | 'op'>): string =>
  domain === '' ? op : `${domain}:${op}`

const ROWS: ReadonlyMap<string, OperatorRow> = new Map(Object.entries(OPERATOR_TABLE))

/** The row of a node's operator; undefined for one that is not known. */
export const rowOf = (node: Pick<Node, 'domain' | 'op'>): OperatorRow | undefined =>
  ROWS.get(operatorName(node))
