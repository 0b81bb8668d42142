// The table of operators: which ones are evaluated before a run, which become part of a decoder's step, and
// how networks run them. It types all three dispatch tables.
import type { Node } from './ir/graph.ts'

/**
 * What an evaluator is needed for. `control`: sizes, positions, masks and tables, which exports compute from
 * their inputs' shapes. `weights`: values that exports compute from constants alone. Other operators occur
 * only between inputs and outputs, where loops run them; their evaluators are in `evaluators.ts`.
 */
type Evaluated = 'control' | 'weights'

/**
 * How networks run an operator. `body`: arithmetic on each element. `view`: the same elements under the dims
 * given by its shape rule. `loops`: a handler creates loops and views. `passes`: passes replace it as soon as
 * sizes are known. `sizes`: the same, unless the sizes of its outputs depend on computed values. `script`:
 * only its evaluator runs it, between programs.
 */
type Lowered = 'body' | 'view' | 'loops' | 'passes' | 'sizes' | 'script'

export interface OperatorRow {
  readonly evaluate?: Evaluated
  /** What it computes in a decoder's step. */
  readonly raise?: string
  /** Absent for operators without an entry, which occur only in the decoders of one exporter. */
  readonly lower?: Lowered
}

/** Keyed by `operatorName`. */
export const OPERATOR_TABLE = {
  Abs: { evaluate: 'control', lower: 'body' },
  Acos: { evaluate: 'weights', lower: 'script' },
  Acosh: { evaluate: 'weights', lower: 'script' },
  Add: { evaluate: 'control', raise: 'rows, biases, masks, norms', lower: 'body' },
  AffineGrid: { lower: 'script' },
  And: { evaluate: 'control', lower: 'body' },
  ArgMax: { evaluate: 'control', lower: 'loops' },
  ArgMin: { evaluate: 'control', lower: 'loops' },
  Asin: { evaluate: 'weights', lower: 'script' },
  Asinh: { evaluate: 'weights', lower: 'script' },
  Atan: { evaluate: 'weights', lower: 'script' },
  Atanh: { evaluate: 'weights', lower: 'script' },
  Attention: { raise: 'attention', lower: 'loops' },
  AveragePool: { lower: 'loops' },
  BatchNormalization: { lower: 'loops' },
  BitCast: { lower: 'script' },
  BitShift: { evaluate: 'control', lower: 'script' },
  BitwiseAnd: { evaluate: 'control', lower: 'body' },
  BitwiseNot: { evaluate: 'control', lower: 'body' },
  BitwiseOr: { evaluate: 'control', lower: 'body' },
  BitwiseXor: { evaluate: 'control', lower: 'body' },
  BlackmanWindow: { lower: 'script' },
  Cast: { evaluate: 'control', raise: 'rows, weights', lower: 'body' },
  CastLike: { evaluate: 'control', lower: 'body' },
  CausalConvWithState: { lower: 'script' },
  Ceil: { evaluate: 'control', lower: 'body' },
  Celu: { lower: 'body' },
  CenterCropPad: { lower: 'script' },
  Clip: { evaluate: 'control', lower: 'body' },
  Col2Im: { lower: 'script' },
  Compress: { lower: 'script' },
  Concat: { evaluate: 'control', raise: 'heads, states', lower: 'loops' },
  ConcatFromSequence: { lower: 'passes' },
  Constant: { evaluate: 'control', lower: 'passes' },
  ConstantOfShape: { evaluate: 'control', lower: 'passes' },
  Conv: { raise: 'convolutions over states', lower: 'loops' },
  ConvInteger: { lower: 'loops' },
  ConvTranspose: { lower: 'loops' },
  Cos: { evaluate: 'control', lower: 'body' },
  Cosh: { evaluate: 'weights', lower: 'body' },
  CumProd: { evaluate: 'control', lower: 'script' },
  CumSum: { evaluate: 'control', lower: 'loops' },
  DFT: { lower: 'script' },
  DeformConv: { lower: 'script' },
  DepthToSpace: { lower: 'loops' },
  DequantizeLinear: { evaluate: 'weights', raise: 'codes', lower: 'loops' },
  Det: { lower: 'script' },
  Div: { evaluate: 'control', raise: 'norms, scores', lower: 'body' },
  Dropout: { evaluate: 'weights', lower: 'body' },
  DynamicQuantizeLinear: { raise: 'codes', lower: 'loops' },
  Einsum: { evaluate: 'control', raise: 'recurrences', lower: 'loops' },
  Elu: { lower: 'body' },
  Equal: { evaluate: 'control', lower: 'body' },
  Erf: { evaluate: 'weights', lower: 'body' },
  Exp: { evaluate: 'control', raise: 'recurrences', lower: 'body' },
  Expand: { evaluate: 'control', raise: 'heads', lower: 'loops' },
  EyeLike: { lower: 'script' },
  Flatten: { evaluate: 'control', lower: 'view' },
  Floor: { evaluate: 'control', lower: 'body' },
  GRU: { lower: 'loops' },
  Gather: { evaluate: 'control', raise: 'tables, heads', lower: 'loops' },
  GatherElements: { evaluate: 'control', lower: 'loops' },
  GatherND: { evaluate: 'control', lower: 'loops' },
  Gelu: { raise: 'activations', lower: 'body' },
  Gemm: { evaluate: 'weights', raise: 'products', lower: 'loops' },
  GlobalAveragePool: { lower: 'loops' },
  GlobalMaxPool: { lower: 'loops' },
  Greater: { evaluate: 'control', lower: 'body' },
  GreaterOrEqual: { evaluate: 'control', lower: 'body' },
  GridSample: { lower: 'script' },
  GroupNormalization: { lower: 'loops' },
  HammingWindow: { lower: 'script' },
  HannWindow: { lower: 'script' },
  HardSigmoid: { lower: 'body' },
  HardSwish: { lower: 'body' },
  Hardmax: { lower: 'script' },
  Identity: { evaluate: 'control', raise: 'rows, weights', lower: 'body' },
  If: { evaluate: 'control', lower: 'passes' },
  InstanceNormalization: { lower: 'loops' },
  IsInf: { evaluate: 'control', lower: 'body' },
  IsNaN: { evaluate: 'control', raise: 'masks', lower: 'body' },
  LRN: { lower: 'script' },
  LSTM: { lower: 'loops' },
  LayerNormalization: { raise: 'norms', lower: 'loops' },
  LeakyRelu: { lower: 'body' },
  Less: { evaluate: 'control', lower: 'body' },
  LessOrEqual: { evaluate: 'control', lower: 'body' },
  LinearAttention: { lower: 'script' },
  Log: { evaluate: 'control', lower: 'body' },
  LogSoftmax: { lower: 'loops' },
  Loop: { evaluate: 'control', lower: 'passes' },
  LpNormalization: { lower: 'script' },
  LpPool: { lower: 'script' },
  MatMul: { evaluate: 'control', raise: 'products, scores', lower: 'loops' },
  MatMulInteger: { raise: 'products of codes', lower: 'loops' },
  Max: { evaluate: 'control', lower: 'body' },
  MaxPool: { lower: 'loops' },
  MaxUnpool: { lower: 'script' },
  Mean: { evaluate: 'weights', lower: 'body' },
  MeanVarianceNormalization: { lower: 'script' },
  MelWeightMatrix: { lower: 'script' },
  Min: { evaluate: 'control', lower: 'body' },
  Mish: { lower: 'body' },
  Mod: { evaluate: 'control', lower: 'body' },
  Mul: { evaluate: 'control', raise: 'rows, gates, norms, rotations, scores', lower: 'body' },
  Neg: { evaluate: 'control', raise: 'rotations', lower: 'body' },
  NegativeLogLikelihoodLoss: { lower: 'script' },
  NonMaxSuppression: { lower: 'script' },
  NonZero: { evaluate: 'control', lower: 'sizes' },
  Not: { evaluate: 'control', lower: 'body' },
  OneHot: { evaluate: 'control', lower: 'loops' },
  Optional: { lower: 'passes' },
  OptionalGetElement: { lower: 'passes' },
  OptionalHasElement: { lower: 'passes' },
  Or: { evaluate: 'control', lower: 'body' },
  PRelu: { evaluate: 'weights', lower: 'body' },
  Pad: { evaluate: 'control', lower: 'loops' },
  Pow: { evaluate: 'control', raise: 'norms', lower: 'body' },
  QLinearConv: { lower: 'loops' },
  QLinearMatMul: { lower: 'loops' },
  QuantizeLinear: { evaluate: 'weights', raise: 'codes', lower: 'loops' },
  RMSNormalization: { raise: 'norms', lower: 'loops' },
  RNN: { lower: 'script' },
  Range: { evaluate: 'control', lower: 'passes' },
  Reciprocal: { evaluate: 'control', raise: 'norms', lower: 'body' },
  ReduceL1: { evaluate: 'weights', lower: 'loops' },
  ReduceL2: { evaluate: 'weights', lower: 'loops' },
  ReduceLogSum: { evaluate: 'weights', lower: 'loops' },
  ReduceLogSumExp: { evaluate: 'weights', lower: 'loops' },
  ReduceMax: { evaluate: 'control', lower: 'loops' },
  ReduceMean: { evaluate: 'control', raise: 'norms', lower: 'loops' },
  ReduceMin: { evaluate: 'control', lower: 'loops' },
  ReduceProd: { evaluate: 'control', lower: 'loops' },
  ReduceSum: { evaluate: 'control', raise: 'recurrences', lower: 'loops' },
  ReduceSumSquare: { evaluate: 'weights', lower: 'loops' },
  Relu: { evaluate: 'control', raise: 'activations', lower: 'body' },
  Reshape: { evaluate: 'control', raise: 'heads, weights', lower: 'view' },
  Resize: { lower: 'loops' },
  ReverseSequence: { lower: 'script' },
  RoiAlign: { lower: 'script' },
  RotaryEmbedding: { raise: 'rotations', lower: 'loops' },
  Round: { evaluate: 'control', lower: 'body' },
  STFT: { lower: 'script' },
  Scan: { evaluate: 'control', lower: 'passes' },
  ScatterElements: { evaluate: 'control', lower: 'loops' },
  ScatterND: { evaluate: 'control', lower: 'loops' },
  Selu: { lower: 'body' },
  SequenceAt: { lower: 'passes' },
  SequenceConstruct: { lower: 'passes' },
  SequenceEmpty: { lower: 'passes' },
  SequenceErase: { lower: 'passes' },
  SequenceInsert: { lower: 'passes' },
  SequenceLength: { lower: 'passes' },
  SequenceMap: { lower: 'passes' },
  Shape: { evaluate: 'control', lower: 'passes' },
  Shrink: { lower: 'script' },
  Sigmoid: { evaluate: 'weights', raise: 'activations', lower: 'body' },
  Sign: { evaluate: 'control', lower: 'body' },
  SimplifiedLayerNormalization: { raise: 'norms', lower: 'loops' },
  Sin: { evaluate: 'control', lower: 'body' },
  Sinh: { evaluate: 'weights', lower: 'body' },
  Size: { evaluate: 'control', lower: 'passes' },
  Slice: { evaluate: 'control', raise: 'heads, rows', lower: 'loops' },
  Softmax: { raise: 'scores', lower: 'loops' },
  SoftmaxCrossEntropyLoss: { lower: 'script' },
  Softplus: { raise: 'recurrences', lower: 'body' },
  Softsign: { lower: 'body' },
  SpaceToDepth: { lower: 'loops' },
  Split: { evaluate: 'control', raise: 'heads, rows', lower: 'loops' },
  SplitToSequence: { lower: 'passes' },
  Sqrt: { evaluate: 'control', raise: 'norms', lower: 'body' },
  Squeeze: { evaluate: 'control', raise: 'heads', lower: 'view' },
  StringConcat: { lower: 'script' },
  StringNormalizer: { lower: 'script' },
  StringSplit: { lower: 'script' },
  Sub: { evaluate: 'control', raise: 'norms', lower: 'body' },
  Sum: { evaluate: 'control', lower: 'body' },
  SwiGLU: { lower: 'body' },
  Swish: { raise: 'activations', lower: 'body' },
  Tan: { evaluate: 'weights', lower: 'body' },
  Tanh: { evaluate: 'weights', raise: 'caps of scores', lower: 'body' },
  TensorScatter: { lower: 'script' },
  ThresholdedRelu: { lower: 'body' },
  Tile: { evaluate: 'control', raise: 'heads', lower: 'loops' },
  TopK: { evaluate: 'control', lower: 'loops' },
  Transpose: { evaluate: 'control', raise: 'heads, weights', lower: 'loops' },
  Trilu: { evaluate: 'control', lower: 'loops' },
  Unique: { lower: 'script' },
  Unsqueeze: { evaluate: 'control', raise: 'heads', lower: 'view' },
  Where: { evaluate: 'control', raise: 'masks', lower: 'body' },
  Xor: { evaluate: 'control', lower: 'body' },
  'ai.onnx.preview:FlexAttention': { lower: 'passes' },
  'com.microsoft:Attention': { raise: 'attention' },
  'com.microsoft:BiasGelu': { lower: 'body' },
  'com.microsoft:CausalConvWithState': { raise: 'convolutions over states', lower: 'script' },
  'com.microsoft:DynamicQuantizeMatMul': { raise: 'products of codes', lower: 'loops' },
  'com.microsoft:EmbedLayerNormalization': { raise: 'tables' },
  'com.microsoft:FastGelu': { raise: 'activations', lower: 'body' },
  'com.microsoft:FusedMatMul': { lower: 'loops' },
  'com.microsoft:GatherBlockQuantized': { raise: 'tables', lower: 'loops' },
  'com.microsoft:Gelu': { raise: 'activations', lower: 'body' },
  'com.microsoft:GroupQueryAttention': { raise: 'attention', lower: 'loops' },
  'com.microsoft:MatMulBnb4': { raise: 'products of codes', lower: 'script' },
  'com.microsoft:MatMulIntegerToFloat': { lower: 'loops' },
  'com.microsoft:MatMulNBits': { raise: 'products of codes', lower: 'loops' },
  'com.microsoft:MultiHeadAttention': { raise: 'attention', lower: 'loops' },
  'com.microsoft:QuickGelu': { raise: 'activations', lower: 'body' },
  'com.microsoft:RotaryEmbedding': { raise: 'rotations', lower: 'loops' },
  'com.microsoft:SimplifiedLayerNormalization': { raise: 'norms' },
  'com.microsoft:SkipLayerNormalization': { raise: 'norms', lower: 'loops' },
  'com.microsoft:SkipSimplifiedLayerNormalization': { raise: 'norms', lower: 'loops' },
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

/** A node's operator as named in tables: with its domain unless that is ONNX's own. */
export const operatorName = ({ domain, op }: Pick<Node, 'domain' | 'op'>): string =>
  domain === '' ? op : `${domain}:${op}`

const ROWS: ReadonlyMap<string, OperatorRow> = new Map(Object.entries(OPERATOR_TABLE))

/** The row of a node's operator; undefined if the operator is unknown. */
export const rowOf = (node: Pick<Node, 'domain' | 'op'>): OperatorRow | undefined =>
  ROWS.get(operatorName(node))
