// Control values that may differ from a plan's. In: small decoders as they may occur in files. Out: whether
// each one matches ONNX Runtime or is rejected with a reason.
import { expect, test } from 'vitest'
import { bufferSource } from '../../../../src/core/base/bytes.ts'
import { prepareModel } from '../../../../src/engine/load/prepare.ts'
import { type NodeWriter, TYPE } from '../../../../src/network/onnx/testing/node-writer.ts'
import { byteTokenizer } from '../byte-tokenizer.ts'
import { openGraph } from '../open-graph.ts'
import { decoderBytes, HIDDEN, VOCAB } from './decoder.ts'
import type { DecoderForm, StatePlace } from './form.ts'
import { judgeDecoder } from './judge.ts'
import { gateLast } from './kinds.ts'

const SHORT = [3, 9, 20]
/** The number of int4 in TensorProto.DataType. */
const I4 = 22
const CAUSAL = { attention: 'multi-head', places: 'none', hasState: false } as const
const BY_HEAD = { merged: 'by-head', heads: 2, kvHeads: 2 } as const
const LONG: DecoderForm = { attention: 'group', places: 'op', isLong: from('total', 40) }
const TWO = { layers: 2, heads: 4, kvHeads: 2 } as const

test.each<[string, DecoderForm, readonly number[]]>([
  ['two layers with a cache', TWO, SHORT],
  ['no cache', { hasState: false }, SHORT],
  ['MultiHeadAttention', { attention: 'multi-head', places: 'op' }, SHORT],
  ['GroupQueryAttention with a window', { attention: 'group', places: 'op', window: 5 }, SHORT],
  ['positions of GroupQueryAttention', { attention: 'group', places: 'op', positions: ofTheStep }, SHORT],
  ['values added to scores', { attention: 'group', places: 'op', seen: windowOf(9) }, [8, 9, 12, 20]],
  [
    'the same with its own window',
    { attention: 'group', places: 'op', seen: windowOf(9), window: 5 },
    [4, 5, 6, 9, 12],
  ],
  ['a sum with zeros', { attention: 'group', seen: everything }, SHORT],
  [
    'rotations with the number of heads in their tables',
    { ...TWO, attention: 'standard', places: 'op', countsHeads: false },
    SHORT,
  ],
  ['embeddings in signed codes of 4 bits', { edit: signedEmbeddings() }, SHORT],
  ['learned positions', { places: 'learned' }, SHORT],
  ['learned positions from row 2 on', { places: 'learned', positions: laterBy(2) }, SHORT],
  [
    'the same in codes of 8 bits',
    { places: 'learned', positions: laterBy(2), edit: codedPositions(64) },
    SHORT,
  ],
  ['learned positions in codes of 8 bits', { places: 'learned', edit: codedPositions(64) }, SHORT],
  ['a mask that keeps', { form: 'kept' }, SHORT],
  ['a mask that drops', { form: 'dropped' }, SHORT],
  ['a window of 40', { seen: windowOf(40) }, [39, 40, 41, 60]],
  ['one mask for each of the heads', { seen: byHead(9, 9) }, SHORT],
  ['one product for queries, keys and values, split by Slice', { ...TWO, merged: 'slice' }, SHORT],
  ['the same, split by Split', { ...TWO, merged: 'split' }, SHORT],
  ['gates that are the last columns of their product', { merged: 'split', edit: gateLast }, SHORT],
  ['two pairs of tables, for lengths that use the first', LONG, [3, 9, 39]],
  ['the same, for lengths that use the second', LONG, [44, 60]],
  ['the same for RotaryEmbedding', { ...LONG, attention: 'multi-head' }, [44, 60]],
  ['heads that are interleaved in one product', BY_HEAD, SHORT],
  ['the same in two layers, with partial rotations', { ...BY_HEAD, layers: 2, turned: 8 }, SHORT],
  ['the same with rotations of a quarter of each head', { ...BY_HEAD, turned: 4 }, SHORT],
  ['the same without a cache', { ...BY_HEAD, hasState: false, turned: 8 }, SHORT],
  ['Attention on rows', { ...TWO, attention: 'standard', places: 'op' }, SHORT],
  ['the same in a window', { attention: 'standard', places: 'op', seen: windowOf(9) }, [8, 9, 12, 20]],
  ['the same, but causal', { ...TWO, attention: 'standard', places: 'op', isCausal: true }, SHORT],
  ['the same without a cache', { attention: 'standard', hasState: false, isCausal: true }, SHORT],
  ['the same with scores that no node reads', { attention: 'standard', givesScores: true }, SHORT],
  ['the same with a cap', { attention: 'standard', cap: 0.5 }, SHORT],
  ['heads that Tile copies', { ...TWO, copies: 'tile' }, SHORT],
  ['heads copied by a list of indices', { ...TWO, copies: 'gather' }, SHORT],
  ['one head copied by Tile', { heads: 4, copies: 'tile heads' }, SHORT],
  ['one head copied by Expand', { heads: 4, copies: 'expand heads' }, SHORT],
  ['capped scores', { ...TWO, cap: 0.5 }, SHORT],
  ['codes of 4 bits in blocks of 32', { heads: 4, blocks: { bits: 4, block: 32 } }, SHORT],
  ['the same with rows of 48', { heads: 3, blocks: { bits: 4, block: 32 } }, SHORT],
  ['the same with reordered inputs', { heads: 4, blocks: { bits: 4, block: 16, isMixed: true } }, SHORT],
  ['codes of 2 bits in blocks of 32', { heads: 4, blocks: { bits: 2, block: 32 } }, SHORT],
  ['the same with zero points', { heads: 4, blocks: { bits: 2, block: 32, hasZeros: true } }, SHORT],
  ['the same in rows of 48', { heads: 3, blocks: { bits: 2, block: 16, hasZeros: true } }, SHORT],
  ['codes of 8 bits in rows of 48', { heads: 3, blocks: { bits: 8, block: 64, hasZeros: true } }, SHORT],
  ['codes of NF4', { heads: 3, blocks: { bits: 4, block: 64, levels: 1 } }, SHORT],
  ['codes of FP4', { heads: 4, blocks: { bits: 4, block: 16, levels: 0 } }, SHORT],
  ['logits from the transposed embeddings', { head: 'transposed' }, SHORT],
  ['logits from a matrix that is cast from f16', { head: 'cast' }, SHORT],
  ['logits from a matrix of a different shape', { head: 'reshaped' }, SHORT],
  ['keys that are transposed with all heads on one axis', { ...TWO, joinsHeads: true }, SHORT],
  ['a mask whose axis has its own name', { ...TWO, maskAxis: 'everything' }, SHORT],
  [
    'states whose axes have their own names',
    { ...TWO, stateAxis: ({ layer, kind }) => `past_${layer}_${kind}` },
    SHORT,
  ],
  ['rotations of the first half of each head', { ...TWO, turned: 8 }, SHORT],
  ['an empty remainder after rotations of whole heads', { turned: 16 }, SHORT],
  ['neighbours separated by Slice', { ...TWO, neighbours: 'slice' }, SHORT],
  ['neighbours separated by Split', { ...TWO, neighbours: 'split' }, SHORT],
  ['neighbours separated by Gather', { ...TWO, neighbours: 'gather' }, SHORT],
  ['neighbours of the first half of each head', { ...TWO, neighbours: 'slice', turned: 8 }, SHORT],
  [
    'neighbours rotated before heads and tokens are swapped',
    { ...TWO, neighbours: 'slice', turned: 8, turnsFirst: true },
    SHORT,
  ],
  ['halves rotated before heads and tokens are swapped', { ...TWO, turnsFirst: true }, SHORT],
  ['ReLU of a gate', { activation: 'relu' }, SHORT],
  ['ReLU times itself', { ...TWO, activation: 'relu squared' }, SHORT],
  ['the square of ReLU', { activation: 'relu power' }, SHORT],
  ['a second mask of the run', { ...TWO, again: { form: 'added', seen: maskOfRun } }, SHORT],
  ['a second mask with a window', { again: { form: 'kept', seen: nearer(9) } }, [8, 9, 10, 20]],
  [
    'two masks with windows',
    { form: 'dropped', seen: windowOf(12), again: { form: 'added', seen: causalIn(9) } },
    [8, 9, 10, 11, 12, 13, 20],
  ],
  ['rows that are cast to f16 and back', { rowsOp: throughCast('f16') }, SHORT],
  ['a bias after a sum of two products', { edit: biasedNorm(7, 5) }, SHORT],
  ['lengths plus 0', { attention: 'group', lengths: offBy(0) }, SHORT],
])("%s: the answers match ONNX Runtime's", async (_, form, lengths) => {
  expect(await judgeDecoder(form, lengths)).toEqual({ is: 'equal', positions: undefined })
})

test('a window of 1200 without a cache is accepted up to the longest prompt tried', async () => {
  const form = { hasState: false, seen: windowOf(1200) }
  expect(await judgeDecoder(form, [1199, 1202, 1300])).toEqual({ is: 'equal', positions: 2399 })
})

test.each<[string, DecoderForm, number]>([
  ['rotations that change at 1200', { angles: scaledFrom(1200) }, 1200],
  ['chunks of 1100', { seen: chunksOf(1100) }, 1100],
  ['a second mask of 1100 positions in the file', { again: { form: 'kept', seen: tableOf(1100) } }, 1100],
  ['a table of 1500 positions', { places: 'learned', tableRows: 1500, positions: clippedTo(1400) }, 1400],
])('%s: the context ends there', async (_, form, positions) => {
  expect(await judgeDecoder(form, [positions - 1, positions])).toEqual({ is: 'equal', positions })
})

test('the load adds a note about a context shorter than usual', async () => {
  const bytes = decoderBytes({ seen: chunksOf(1100) })
  const file = await openGraph([bufferSource('model.onnx', bytes), byteTokenizer(VOCAB)])
  const { contextLength, notes } = await prepareModel(file, { weights: 'auto' })
  expect(contextLength).toBe(1100)
  expect(notes).toEqual([
    {
      code: 'proven-context',
      text: expect.stringMatching(/1100 tokens instead of 4096, because the file's graph/),
      values: { tokens: 1100, asked: 4096 },
    },
  ])
  expect(file.history?.at(-1)).toMatch(/read up to 1100 positions: node .* shows 1 positions after 1101/)
  expect((await prepareModel(file, { weights: 'auto', contextLength: 1000 })).notes).toEqual([])
})

test.each<[string, DecoderForm, RegExp]>([
  ['slopes, one of which is 0', { bias: slopes }, /adds -\S+ to a score of head 1/],
  ['heads with their own windows', { seen: byHead(4, 3) }, /shows head 0 4 positions and head 1 3/],
  [
    'such heads of MultiHeadAttention',
    { attention: 'multi-head', seen: byHead(4, 3) },
    /shows head 0 4 positions and head 1 3/,
  ],
  ['chunks of 300', { seen: chunksOf(300) }, /shows 1 positions after 301/],
  ['windows in long chunks after a state', { seen: windowIn(longChunk) }, /mask .* (shows|hides|windows)/],
  ['windows at the totals in a list', { seen: windowIn(listed) }, /mask .* (shows|hides|windows)/],
  ['windows from 300 on', { seen: windowFrom(300, 8) }, /mask .* (shows|hides)/],
  [
    'rotations that change at 300',
    { angles: scaledFrom(300) },
    /rotate position \d+ with frequencies that differ|no rotation/,
  ],
  [
    'a table with one different row',
    { attention: 'group', places: 'op', tableRows: 400, tableBase: (at) => (at === 333 ? 500 : 10_000) },
    /not a rotation with fixed frequencies/,
  ],
  ['tables chosen by a long prompt', { ...LONG, isLong: from('tokens', 40) }, /takes another branch for/],
  ['tables chosen by a long state', { ...LONG, isLong: from('past', 40) }, /takes another branch for/],
  [
    'tables of three lengths',
    { ...LONG, isLong: (g, places) => g.op('Equal', [places.total, g.int(40)]) },
    /takes another branch for/,
  ],
  [
    'positions of GroupQueryAttention that begin at 1',
    { attention: 'group', places: 'op', positions: (g, each) => g.op('Add', [each, g.int(1)]) },
    /positions of its tokens/,
  ],
  ['slopes of GroupQueryAttention', { attention: 'group', bias: slopes }, /adds -\S+ to a score of head 1/],
  [
    'neighbours with the angles of halves',
    { neighbours: 'slice', angleOrder: 'halves' },
    /for numbers 1 apart, but one angle must rotate both/,
  ],
  [
    'halves with the angles of neighbours',
    { angleOrder: 'neighbours' },
    /for numbers 8 apart, but one angle must rotate both/,
  ],
  [
    'angles of tokens applied to heads',
    { turnsFirst: true, edit: anglesByHead },
    /has the shape \[1,1,\d+,16\] instead of \[\d+, 1, 16\]/,
  ],
  [
    'heads that Tile copies in turn',
    { ...TWO, copies: 'tile heads' },
    /of shape \[batch, 2, .*, 16\] \(heads\), and this form is not supported: the copies of a head must be adjacent/,
  ],
  [
    'two branches that read ids',
    { edit: chosenEmbeddings },
    /reads input_ids of shape \[batch, tokens\] \(ids\), .* an If is supported on a constant, on use_cache_branch/,
  ],
  [
    'heads that Attention reads as tokens',
    { attention: 'standard', hasState: false, isCausal: true, heads: 2, kvHeads: 2, edit: tokensAsHeads },
    /\(heads\), and this form is not supported: tokens must attend to each other/,
  ],
  [
    'tokens of an encoder',
    { hasState: false, seen: everything },
    /lets token 0 see token 1, but masks must be causal/,
  ],
  ['sinks', { attention: 'group', hasSinks: true }, /has a sink for each head/],
  [
    'lengths less 2',
    { attention: 'group', lengths: offBy(-2) },
    /but the total number of positions minus one/,
  ],
  [
    'lengths that end at 90',
    { attention: 'group', lengths: (g, each) => g.op('Min', [each, g.int(90)]) },
    /minus one/,
  ],
  [
    'positions that end at 20',
    { places: 'learned', positions: clippedTo(20) },
    /but the positions of its tokens are required/,
  ],
  [
    'positions that begin at 2 and end at 20',
    { places: 'learned', positions: (g, each) => g.op('Min', [g.op('Add', [each, g.int(2)]), g.int(20)]) },
    /but the positions of its tokens, plus 2, are required/,
  ],
  [
    'positions in a column',
    { places: 'learned', positions: (g, each) => g.op('Transpose', [each], { perm: { ints: [1, 0] } }) },
    /has the shape \[\d+,1\], but the positions of its tokens must be its last axis/,
  ],
  [
    'positions beyond their table',
    { places: 'learned', positions: laterBy(70) },
    /its first position is row 70 of 64/,
  ],
  [
    'second masks of single heads',
    { again: { form: 'kept', seen: (g, places) => byHead(4, 3)(g, causalIn(99)(g, places), places) } },
    /shows head 0 4 positions and head 1 3/,
  ],
  [
    'second masks that hide the token itself',
    { again: { form: 'kept', seen: (g, places) => g.op('Greater', [distance(g, places), g.int(0)]) } },
    /hides every position from token 0/,
  ],
  [
    'second masks that add slopes',
    { again: { form: 'added', seen: nearer(9) }, bias: slopes },
    /adds -\S+ to a score of head 1 .*slopes \(ALiBi\) are not supported; positions must be rotations or learned rows/,
  ],
  ['states of another layer', { ...TWO, pastOf: otherLayer }, /is not the step's new value of the state/],
  ['states output for another layer', { ...TWO, presentOf: otherLayer }, /is not the step's new value/],
  [
    'keys that are read as values',
    { attention: 'multi-head', pastOf: otherKind },
    /is not the step's new value/,
  ],
  ['a state that two layers add to', { ...TWO, pastOf: ({ kind }) => ({ layer: 0, kind }) }, /a second time/],
  [
    'a state that is output doubled',
    { presentOp: (g, present, { kind }) => (kind === 'key' ? g.op('Mul', [present, g.float(2)]) : present) },
    /is not the step's new value of the state/,
  ],
  [
    'embeddings in signed codes with zero points',
    { edit: signedEmbeddings(true) },
    /signed and have zero points/,
  ],
  ['rows that are cast to whole numbers', { rowsOp: throughCast('i64') }, /casts rows to i64/],
  ['rows that are cast to booleans', { rowsOp: throughCast('bool') }, /casts rows to bool/],
  ['a bias after twice one product', { edit: biasedNorm(7, 7) }, /adds a bias before the norm/],
  [
    'tokens that become separate texts',
    { ...CAUSAL, edit: tokensAsTexts },
    /but tokens must stay on their axis/,
  ],
  [
    'ids from two inputs',
    { inputs: ['other_ids'], edit: otherIds },
    /it reads other_ids, but the ids come from input_ids/,
  ],
  ['masks made of a variance of rows', { hasState: false, edit: maskOfRows }, /it reads variance_of_rows/],
  ['rows divided by 0', { rowsOp: (g, rows) => g.op('Div', [rows, g.float(0)]) }, /multiplies by Infinity/],
  ['rows times 0', { rowsOp: (g, rows) => g.op('Mul', [rows, g.float(0)]) }, /multiplies by 0/],
])('%s are rejected by name', async (_, form, why) => {
  const verdict = await judgeDecoder(form, SHORT)
  expect(verdict).toMatchObject({ is: 'refused', why: expect.stringMatching(/^node /) })
  expect(verdict).toMatchObject({ why: expect.stringMatching(why) })
})

/** Cosines and sines [1, 1, tokens, numbers], with heads still after tokens. */
function anglesByHead(g: NodeWriter): void {
  for (const op of ['Cos', 'Sin']) {
    const made = g.nodes.find(isOf(op))?.outputs[0] ?? ''
    g.replace(
      ({ op, inputs }) => op === 'Unsqueeze' && inputs[0] === made,
      ({ outputs }) => g.node('Unsqueeze', [made, g.ints([1])], outputs),
    )
  }
}

function from(by: 'total' | 'tokens' | 'past', size: number): NonNullable<DecoderForm['isLong']> {
  return (g, places) => g.op('Greater', [places[by], g.int(size)])
}

/** Heads [batch, tokens, heads, numbers], with Attention's heads before tokens. */
function tokensAsHeads(g: NodeWriter): void {
  g.replace(
    ({ op }) => op === 'Attention',
    ({ inputs, outputs }) => {
      const heads = inputs.map((name) => g.op('Reshape', [name, g.ints([0, 0, 2, 16])]))
      const made = g.node('Attention', heads, ['apart'], { is_causal: 1 })
      g.node('Reshape', [made, g.ints([0, 0, -1])], outputs)
    },
  )
}

/** Embeddings chosen by an If on the length, as in a merged decoder without its usual input. */
function chosenEmbeddings(g: NodeWriter): void {
  const isEmbedding = ({ op, inputs }: { op: string; inputs: readonly string[] }) =>
    op === 'Gather' && inputs[1] === 'input_ids'
  g.replace(isEmbedding, ({ inputs, outputs }) => {
    const branch = (name: string) => ({
      nodes: [{ op: 'Gather', inputs, outputs: [name] }],
      outputs: [{ name, type: TYPE.f32 }],
    })
    const isLong = g.op('Greater', [g.op('Size', ['attention_mask']), g.int(5)])
    g.node('If', [isLong], outputs, { then_branch: branch('long'), else_branch: branch('short') })
  })
}

function ofTheStep(g: NodeWriter, _: string, { rows }: Parameters<Seen>[2]): string {
  return g.unsqueeze(rows, 0)
}

/** A mask for an operator that masks later positions itself. */
function everything(g: NodeWriter, seen: string): string {
  return g.op('Or', [seen, g.op('Not', [seen])])
}

type Seen = NonNullable<DecoderForm['seen']>

/** The distance from each position back to each of those that its token may see, [tokens, total]. */
function distance(g: NodeWriter, { rows, columns }: Parameters<Seen>[2]): string {
  return g.op('Sub', [g.unsqueeze(rows, 1), g.unsqueeze(columns, 0)])
}

function windowOf(size: number): Seen {
  return (g, seen, places) => g.op('And', [seen, g.op('Less', [distance(g, places), g.int(size)])])
}

function laterBy(rows: number): NonNullable<DecoderForm['positions']> {
  return (g, positions) => g.op('Add', [positions, g.int(rows)])
}

type Again = NonNullable<DecoderForm['again']>['seen']

/** All positions that the run does not mask. [1, total] */
function maskOfRun(g: NodeWriter): string {
  return g.cast('attention_mask', 'bool')
}

/** A window that includes later positions, which another mask hides. */
function nearer(size: number): Again {
  return (g, places) => g.op('Less', [distance(g, places), g.int(size)])
}

function causalIn(size: number): Again {
  return (g, places) =>
    g.op('And', [nearer(size)(g, places), g.op('GreaterOrEqual', [distance(g, places), g.int(0)])])
}

/** A causal mask sliced from a table. */
function tableOf(size: number): Again {
  return (g, { past, total }) => {
    const seen = Array.from({ length: size ** 2 }, (_, at) => at % size <= Math.floor(at / size))
    const ends = [past, total].map((each) => g.unsqueeze(each, 0))
    const rows = g.op('Slice', [g.truths(seen, [size, size]), ...ends, g.ints([0])])
    return g.op('Slice', [rows, g.ints([0]), ends[1]!, g.ints([1])])
  }
}

/** A window of fixed size in contexts of more than `from` positions. */
function windowFrom(from: number, size: number): Seen {
  return (g, seen, places) => {
    const isShort = g.op('LessOrEqual', [places.total, g.int(from)])
    const isNear = g.op('Less', [distance(g, places), g.int(size)])
    return g.op('And', [seen, g.op('Or', [isShort, isNear])])
  }
}

/** A window of two positions while a condition holds. */
function windowIn(isOther: (g: NodeWriter, places: Parameters<Seen>[2]) => string): Seen {
  return (g, seen, places) => {
    const isNear = g.op('Less', [distance(g, places), g.int(2)])
    return g.op('And', [seen, g.op('Or', [g.op('Not', [isOther(g, places)]), isNear])])
  }
}

function longChunk(g: NodeWriter, { tokens, past }: Parameters<Seen>[2]): string {
  return g.op('And', [g.op('Greater', [tokens, g.int(30)]), g.op('Greater', [past, g.int(0)])])
}

/** Whether the total is one of 80 scattered values. */
function listed(g: NodeWriter, { total }: Parameters<Seen>[2]): string {
  const list = g.ints(Array.from({ length: 80 }, (_, at) => 505 + 40 * at))
  const isListed = g.cast(g.op('Equal', [total, list]), 'i64')
  return g.op('Greater', [g.op('ReduceSum', [isListed, g.ints([0])], { keepdims: 0 }), g.int(0)])
}

function chunksOf(size: number): Seen {
  return (g, seen, { rows, columns }) => {
    const [own, other] = [g.unsqueeze(rows, 1), g.unsqueeze(columns, 0)].map((each) =>
      g.op('Div', [each, g.int(size)]),
    )
    return g.op('And', [seen, g.op('Equal', [own!, other!])])
  }
}

function byHead(...sizes: readonly number[]): Seen {
  return (g, seen, places) =>
    g.op('And', [
      seen,
      g.op('Less', [g.unsqueeze(distance(g, places), 0), g.ints(sizes, [sizes.length, 1, 1])]),
    ])
}

function slopes(g: NodeWriter, places: Parameters<Seen>[2]): string {
  const away = g.unsqueeze(g.cast(g.op('Neg', [distance(g, places)]), 'f32'), 0)
  return g.op('Mul', [away, g.floats([0, 0.0625], [2, 1, 1])])
}

/** Angles that are twice as large for all tokens in contexts of more than `from` positions. */
function scaledFrom(from: number): NonNullable<DecoderForm['angles']> {
  return (g, angles, { total }) => {
    const isLong = g.op('Greater', [total, g.int(from)])
    return g.op('Mul', [angles, g.op('Where', [isLong, g.float(2), g.float(1)])])
  }
}

function clippedTo(last: number): NonNullable<DecoderForm['positions']> {
  return (g, positions) => g.op('Min', [positions, g.int(last)])
}

/** The table of positions as codes with one scale and a zero point, as ONNX Runtime's quantisers write it. */
function codedPositions(rows: number) {
  return (g: NodeWriter) =>
    g.replace(
      ({ op, inputs: [table] }) =>
        op === 'Gather' && g.constants.some(({ name, dims }) => name === table && dims[0] === rows),
      ({ inputs: [, positions = ''], outputs }) => {
        const codes = Array.from({ length: rows * HIDDEN }, (_, at) => (at * 97 + ((at * at) % 31) * 7) % 256)
        const found = g.op('Gather', [g.bytes(Uint8Array.from(codes), [rows, HIDDEN]), positions])
        const parts = [found, g.floats([0.0078125], []), g.bytes(Uint8Array.of(120), [])]
        g.node('DequantizeLinear', parts, outputs)
      },
    )
}

/** Embeddings in codes of 4 bits around 0, as onnxruntime-genai writes them; they may have zero points. */
function signedEmbeddings(hasZeros = false): NonNullable<DecoderForm['edit']> {
  return (g) =>
    g.replace(
      ({ inputs }) => inputs[1] === 'input_ids',
      ({ outputs }) => {
        const bytes = Uint8Array.from(
          { length: (VOCAB * HIDDEN) / 2 },
          (_, at) => (at * 89 + (at >> 3) * 7) % 256,
        )
        const constant = (name: string, dims: readonly number[], raw: Uint8Array) => {
          g.constants.push({ name, type: I4, dims, raw })
          return name
        }
        const scales = g.floats(
          Array.from({ length: VOCAB }, (_, at) => (1 + (at % 7)) / 16),
          [VOCAB, 1],
        )
        const zeros = hasZeros ? [constant('signed_zeros', [VOCAB, 1], new Uint8Array(VOCAB / 2))] : []
        const inputs = [constant('signed_codes', [VOCAB, HIDDEN], bytes), 'input_ids', scales, ...zeros]
        const attributes = { block_size: 16, gather_axis: 0, quantize_axis: 1 }
        g.node('GatherBlockQuantized', inputs, outputs, attributes, 'com.microsoft')
      },
    )
}

function offBy(count: number): NonNullable<DecoderForm['lengths']> {
  return (g, lengths) => g.op('Add', [lengths, g.int(count)])
}

function throughCast(type: 'f16' | 'i64' | 'bool'): NonNullable<DecoderForm['rowsOp']> {
  return (g, rows) => g.cast(g.cast(rows, type), 'f32')
}

function otherLayer({ layer, kind }: StatePlace): StatePlace {
  return { layer: 1 - layer, kind }
}

function otherKind({ layer, kind }: StatePlace): StatePlace {
  return { layer, kind: kind === 'key' ? 'value' : 'key' }
}

/** The last norm feeds two products, with a bias. */
function biasedNorm(...seeds: readonly number[]): NonNullable<DecoderForm['edit']> {
  return (g) => {
    const logits = g.nodes.find(({ outputs }) => outputs[0] === 'logits')
    g.replace(
      ({ outputs }) => outputs[0] === logits?.inputs[0],
      ({ inputs: [x = '', gamma = ''], outputs }) => {
        const products = seeds.map((seed) => {
          const values = Array.from({ length: 256 }, (_, at) => ((at * seed) % 13) / 13 - 0.5)
          return g.op('MatMul', [x, g.floats(values, [16, 16])])
        })
        const bias = g.floats(Array.from({ length: 16 }, (_, at) => at / 4 - 2))
        const attributes = { epsilon: { float: 1e-6 } }
        const inputs = [...products, gamma, bias]
        g.node('SkipSimplifiedLayerNormalization', inputs, outputs, attributes, 'com.microsoft')
      },
    )
  }
}

const isOf = (op: string) => (node: { readonly op: string }) => node.op === op

/** Attention with its own causal mask, over texts of one token each. */
function tokensAsTexts(g: NodeWriter): void {
  g.replace(isOf('MultiHeadAttention'), ({ inputs: [q = '', k = '', v = ''], outputs: [made = ''] }) => {
    const alone = [q, k, v].map((each) => g.op('Reshape', [each, g.ints([-1, 1, 32])]))
    const attributes = { num_heads: 2, unidirectional: 1 }
    g.node('MultiHeadAttention', alone, ['alone'], attributes, 'com.microsoft')
    g.node('Reshape', ['alone', g.ints([1, -1, 32])], [made])
  })
}

/** Adds the embeddings of ids from another input to those of the tokens. */
function otherIds(g: NodeWriter): void {
  g.replace(
    ({ inputs }) => inputs[1] === 'input_ids',
    ({ inputs: [table = ''], outputs }) => {
      const own = g.op('Gather', [table, 'input_ids'])
      g.node('Add', [own, g.op('Gather', [table, 'other_ids'])], outputs)
    },
  )
}

/** Adds a norm's statistics output to the mask. */
function maskOfRows(g: NodeWriter): void {
  g.replace(isOf('SimplifiedLayerNormalization'), (node) =>
    g.nodes.push({ ...node, outputs: [...node.outputs, 'variance_of_rows'] }),
  )
  const shares = g.nodes.find(isOf('Softmax'))
  g.replace(
    ({ outputs }) => outputs[0] === shares?.inputs[0],
    ({ inputs: [scores = '', mask = ''], outputs }) => {
      const added = g.op('Mul', ['variance_of_rows', g.float(0)])
      g.node('Add', [scores, g.op('Add', [mask, added])], outputs)
    },
  )
}
