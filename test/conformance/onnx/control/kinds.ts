// Kinds of control values. In: random numbers. Out: one variant of a decoder's masks, positions, rotations,
// lengths or states, with random thresholds. Some match plans, others do not.

import type { NodeWriter } from '../../../../src/network/onnx/testing/node-writer.ts'
import type { Random } from '../../../helpers/random.ts'
import type { DecoderForm, Places, StatePlace } from './form.ts'

/** Part of a form, and the lengths at which its behaviour may change. */
export interface Kind {
  readonly label: string
  readonly form: DecoderForm
  readonly numbers?: readonly number[]
  /**
   * Selects the lengths that may share a context; default: all. Plans rotate a whole context by one pair of
   * tables.
   */
  readonly within?: (length: number) => boolean
  /** Whether it rounds to f16, which plans do not replicate. */
  readonly isRounded?: boolean
}

export interface Room {
  readonly random: Random
  /** The largest random number. */
  readonly most: number
}

/** Usually a few tokens, sometimes hundreds. */
function numberOf({ random, most }: Room): number {
  const end = random.pick([12, 40, 40, 150, 400, most])
  return 2 + random.below(Math.max(1, Math.min(end, most) - 2))
}

type SeenOf = NonNullable<DecoderForm['seen']>

const row = (g: NodeWriter, { rows }: Places): string => g.unsqueeze(rows, 1)
const column = (g: NodeWriter, { columns }: Places): string => g.unsqueeze(columns, 0)
/** The distance back to each position. [tokens, total] */
const distance = (g: NodeWriter, places: Places): string => g.op('Sub', [row(g, places), column(g, places)])
const within = (g: NodeWriter, places: Places, size: number): string =>
  g.op('Less', [distance(g, places), g.int(size)])

/** Where `isOther` is true, only a window is visible. */
const windowWhere =
  (size: number, isOther: (g: NodeWriter, places: Places) => string): SeenOf =>
  (g, seen, places) =>
    g.op('And', [seen, g.op('Or', [g.op('Not', [isOther(g, places)]), within(g, places, size)])])

const masked = (label: string, numbers: readonly number[], seen: SeenOf): Kind => ({
  label,
  numbers,
  form: { seen },
})

export const MASKS: readonly ((room: Room) => Kind)[] = [
  (room) => {
    const size = numberOf(room)
    return masked('window', [size], (g, seen, places) => g.op('And', [seen, within(g, places, size)]))
  },
  (room) => {
    const size = numberOf(room)
    return masked('chunks', [size, 2 * size], (g, seen, places) => {
      const [own, other] = [row(g, places), column(g, places)].map((each) =>
        g.op('Div', [each, g.int(size)]),
      ) as [string, string]
      return g.op('And', [seen, g.op('Equal', [own, other])])
    })
  },
  (room) => {
    const first = numberOf(room)
    const sizes = [first, room.random.chance(0.4) ? first : numberOf(room)]
    return masked('windows by head', sizes, (g, seen, places) => {
      const isNear = g.op('Less', [g.unsqueeze(distance(g, places), 0), g.ints(sizes, [2, 1, 1])])
      return g.op('And', [seen, isNear])
    })
  },
  (room) => {
    const from = numberOf(room)
    const size = 1 + room.random.below(8)
    const by = room.random.pick(['total', 'tokens', 'past'] as const)
    const seen = windowWhere(size, (g, places) => g.op('Greater', [places[by], g.int(from)]))
    return masked(`window where the ${by} exceeds a number`, [from, size], seen)
  },
  (room) => {
    const from = numberOf({ ...room, most: Math.min(room.most, 400) })
    const size = 1 + room.random.below(8)
    const seen = windowWhere(size, (g, { tokens, past }) =>
      g.op('And', [g.op('Greater', [tokens, g.int(from)]), g.op('Greater', [past, g.int(0)])]),
    )
    return masked('window in long chunks after a state', [from, 2 * from + 12], seen)
  },
  (room) => {
    const from = numberOf(room)
    const times = 2 + room.random.below(4)
    const size = 1 + room.random.below(8)
    const form = room.random.pick(['times', 'over', 'plus'] as const)
    const changed = (g: NodeWriter, { total }: Places) =>
      form === 'times'
        ? g.op('Mul', [total, g.int(times)])
        : form === 'over'
          ? g.op('Div', [total, g.int(times)])
          : g.op('Add', [total, g.int(times)])
    const at = { times: Math.floor(from / times), over: from * times, plus: from - times }[form]
    const seen = windowWhere(size, (g, places) => g.op('Greater', [changed(g, places), g.int(from)]))
    return masked('window where a function of the total exceeds a number', [Math.max(1, at), size], seen)
  },
  (room) => {
    const from = numberOf(room)
    const size = 1 + room.random.below(8)
    const seen = windowWhere(size, (g, places) => g.op('GreaterOrEqual', [row(g, places), g.int(from)]))
    return masked('window of tokens from a position on', [from, size], seen)
  },
  (room) => {
    const at = numberOf(room)
    return masked('one position hidden', [at], (g, seen, places) =>
      g.op('And', [seen, g.op('Not', [g.op('Equal', [column(g, places), g.int(at)])])]),
    )
  },
  (room) => {
    const size = numberOf(room)
    const first = 1 + room.random.below(4)
    return masked('window and the first positions', [size, first], (g, seen, places) => {
      const isFirst = g.op('Less', [column(g, places), g.int(first)])
      return g.op('And', [seen, g.op('Or', [isFirst, within(g, places, size)])])
    })
  },
  (room) => {
    const size = numberOf(room)
    return masked('first positions seen by all', [size], (g, seen, places) =>
      g.op('Or', [seen, g.op('Less', [column(g, places), g.int(size)])]),
    )
  },
  (room) => {
    const step = 2 + room.random.below(3)
    return masked('every so many positions', [step], (g, seen, places) => {
      const rest = g.op('Mod', [distance(g, places), g.int(step)])
      return g.op('And', [seen, g.op('Equal', [rest, g.int(0)])])
    })
  },
  () =>
    masked('the mask of the run', [], (g, seen) =>
      g.op('And', [seen, g.unsqueeze(g.op('Squeeze', [g.cast('attention_mask', 'bool'), g.ints([0])]), 0)]),
    ),
  (room) => {
    const size = 8 + room.random.below(120)
    const odd = room.random.chance(0.5)
    const at = room.random.below(size)
    return masked('a table of a mask', [size, at], (g, _, { past, total }) => {
      const values = Array.from(
        { length: size * size },
        (_, index) => index % size <= Math.floor(index / size) && !(odd && index === at * size),
      )
      const part = (value: string, from: string, axis: number) => {
        const bounds = [from, total].map((each) => g.unsqueeze(each, 0))
        return g.op('Slice', [value, ...bounds, g.ints([axis])])
      }
      return part(part(g.truths(values, [size, size]), past, 0), g.int(0), 1)
    })
  },
  (room) => {
    const slope = room.random.pick([0, 0, 0.0625])
    const other = room.random.pick([0, 0, 0.25])
    const bias = (g: NodeWriter, places: Places) => {
      const away = g.unsqueeze(g.cast(g.op('Neg', [distance(g, places)]), 'f32'), 0)
      return g.op('Mul', [away, g.floats([slope, other], [2, 1, 1])])
    }
    return { label: 'slopes by head', form: { bias } }
  },
  (room) => {
    const from = numberOf(room)
    const added = room.random.pick([-0.5, -100, -1e5, -1e9])
    const bias = (g: NodeWriter, places: Places) => {
      const isFar = g.op('GreaterOrEqual', [distance(g, places), g.int(from)])
      return g.op('Where', [isFar, g.float(added), g.float(0)])
    }
    return { label: `${added} added to the scores of distant positions`, form: { bias }, numbers: [from] }
  },
]

type Again = NonNullable<DecoderForm['again']>

/** Second masks, of primitive operators. */
export const AGAIN: readonly ((room: Room) => Kind)[] = [
  (room) => again(room, 'a second mask of the run', [], (g) => g.cast('attention_mask', 'bool')),
  (room) => {
    const size = numberOf(room)
    return again(room, 'a second mask with a window', [size], (g, places) => within(g, places, size))
  },
  (room) => {
    const sizes = [numberOf(room), numberOf(room)]
    return again(room, 'second windows by head', sizes, (g, places) =>
      g.op('Less', [g.unsqueeze(distance(g, places), 0), g.ints(sizes, [2, 1, 1])]),
    )
  },
  (room) => {
    const size = numberOf(room)
    return again(room, 'a second mask of first positions', [size], (g, places) =>
      g.op('Less', [column(g, places), g.int(size)]),
    )
  },
]

function again({ random }: Room, label: string, numbers: readonly number[], seen: Again['seen']): Kind {
  const form = random.pick(['added', 'kept', 'dropped'] as const)
  return { label, numbers, form: { again: { form, seen } } }
}

type PositionsOf = NonNullable<DecoderForm['positions']>

const placed = (label: string, numbers: readonly number[], positions: PositionsOf): Kind => ({
  label,
  numbers,
  form: { positions },
})

export const POSITIONS: readonly ((room: Room) => Kind)[] = [
  (room) => {
    const last = numberOf(room)
    return placed('positions that end', [last], (g, each) => g.op('Min', [each, g.int(last)]))
  },
  (room) => {
    const first = room.random.pick([0, 0, 1, 2])
    return placed('positions from a number on', [], (g, each) => g.op('Add', [each, g.int(first)]))
  },
  (room) => {
    const times = room.random.pick([1, 2, 3])
    return placed('positions times a number', [], (g, each) => g.op('Mul', [each, g.int(times)]))
  },
  (room) => {
    const size = numberOf(room)
    return placed('positions that begin again', [size], (g, each) => g.op('Mod', [each, g.int(size)]))
  },
  (room) => {
    const from = numberOf(room)
    const by = room.random.pick(['total', 'past', 'own'] as const)
    return placed(`positions that jump by ${by}`, [from], (g, each, places) => {
      const isLong = g.op('Greater', [by === 'own' ? each : places[by], g.int(from)])
      return g.op('Where', [isLong, g.op('Add', [each, g.int(1)]), each])
    })
  },
  () => placed('positions of the step', [], (g, _, { rows }) => g.unsqueeze(rows, 0)),
  () => placed('positions through i32', [], (g, each) => g.cast(g.cast(each, 'i32'), 'i64')),
  () => placed('positions through truths', [], (g, each) => g.cast(g.cast(each, 'bool'), 'i64')),
]

type AnglesOf = NonNullable<DecoderForm['angles']>

const turned = (label: string, numbers: readonly number[], angles: AnglesOf): Kind => ({
  label,
  numbers,
  form: { angles },
})

export const ANGLES: readonly ((room: Room) => Kind)[] = [
  (room) => {
    const from = numberOf(room)
    const by = room.random.pick(['total', 'tokens', 'past'] as const)
    return turned(`angles that change with the ${by}`, [from], (g, angles, places) => {
      const isLong = g.op('Greater', [places[by], g.int(from)])
      return g.op('Mul', [angles, g.op('Where', [isLong, g.float(0.5), g.float(1)])])
    })
  },
  (room) => {
    const from = numberOf(room)
    return turned('angles that change with the position', [from], (g, angles, { rows }) => {
      const isLate = g.op('GreaterOrEqual', [rows, g.int(from)])
      const factor = g.op('Where', [isLate, g.float(0.5), g.float(1)])
      return g.op('Mul', [angles, g.unsqueeze(factor, 0, 2)])
    })
  },
  (room) => {
    const factor = room.random.pick([1, 0.5, 0.25, 2])
    return turned('angles times a number', [], (g, angles) => g.op('Mul', [angles, g.float(factor)]))
  },
  (room) => {
    const factors = Array.from({ length: 8 }, () => 1 / (1 + room.random.below(4)))
    return turned('angles times a number each', [], (g, angles) => g.op('Mul', [angles, g.floats(factors)]))
  },
  (room) => {
    const more = room.random.pick([0, 0.1])
    return turned('angles plus a number', [], (g, angles) => g.op('Add', [angles, g.float(more)]))
  },
  (room) => {
    const angleOrder = room.random.pick(['halves', 'neighbours'] as const)
    return { label: `angles of ${angleOrder}`, form: { angleOrder } }
  },
  () => turned('angles through f16', [], (g, angles) => g.cast(g.cast(angles, 'f16'), 'f32')),
]

export const TABLES: readonly ((room: Room) => Kind)[] = [
  (room) => {
    const from = numberOf(room)
    const tableBase = (at: number) => (at < from ? 10_000 : 500)
    return { label: 'tables of two bases', form: { tableBase, tableRows: 1536 }, numbers: [from] }
  },
  (room) => {
    const odd = numberOf(room)
    const tableBase = (at: number) => (at === odd ? 500 : 10_000)
    return { label: 'tables with one other row', form: { tableBase, tableRows: 1536 }, numbers: [odd] }
  },
  (room) => {
    const tableRows = numberOf(room) + 8
    return { label: 'tables of some length', form: { tableRows }, numbers: [tableRows] }
  },
  (room) => {
    const from = numberOf(room)
    const by = room.random.pick(['total', 'total', 'tokens', 'past'] as const)
    const isLong: DecoderForm['isLong'] = (g, places) => g.op('Greater', [places[by], g.int(from)])
    const [within, numbers] = room.random.chance(0.5)
      ? [(length: number) => length < from, [from - 2]]
      : [(length: number) => length > from + 3, [from + 4]]
    return { label: `tables that the ${by} chooses`, form: { isLong, tableRows: 1536 }, numbers, within }
  },
]

const counted = (
  label: string,
  numbers: readonly number[],
  lengths: NonNullable<DecoderForm['lengths']>,
): Kind => ({ label, numbers, form: { lengths } })

export const LENGTHS: readonly ((room: Room) => Kind)[] = [
  (room) => {
    const less = room.random.pick([0, 0, 1, 2])
    return counted('lengths less a number', [], (g, each) => g.op('Sub', [each, g.int(less)]))
  },
  (room) => {
    const last = numberOf(room)
    return counted('lengths that end', [last], (g, each) => g.op('Min', [each, g.int(last)]))
  },
  (room) => {
    const from = numberOf(room)
    return counted('lengths that change with the total', [from], (g, each, { total }) => {
      const isLong = g.op('Greater', [total, g.int(from)])
      return g.op('Sub', [each, g.op('Where', [isLong, g.int(1), g.int(0)])])
    })
  },
  () =>
    counted('lengths of the step', [], (g, _, { total }) => g.op('Sub', [g.unsqueeze(total, 0), g.int(1)])),
  (room) => {
    const window = numberOf(room)
    return { label: 'a window of the operator', form: { window }, numbers: [window] }
  },
]

const swap = ({ layer, kind }: StatePlace): StatePlace => ({ layer: 1 - layer, kind })
const turn = ({ layer, kind }: StatePlace): StatePlace => ({ layer, kind: kind === 'key' ? 'value' : 'key' })

/** Kinds for two layers. */
export const STATES: readonly ((room: Room) => Kind)[] = [
  () => ({ label: 'states of the other layer', form: { pastOf: swap } }),
  () => ({ label: 'states for the other layer', form: { presentOf: swap } }),
  () => ({ label: 'states that change places on both sides', form: { pastOf: swap, presentOf: swap } }),
  () => ({ label: 'keys as values', form: { pastOf: turn } }),
  () => ({ label: 'keys for values', form: { presentOf: turn } }),
  () => ({ label: 'keys as values on both sides', form: { pastOf: turn, presentOf: turn } }),
  (room) => {
    const factor = room.random.pick([1, 2])
    const of = room.random.pick(['key', 'value'] as const)
    const presentOp = (g: NodeWriter, present: string, { kind }: StatePlace) =>
      kind === of ? g.op('Mul', [present, g.float(factor)]) : present
    return { label: 'states times a number', form: { presentOp } }
  },
  (room) => {
    const type = room.random.pick(['f16', 'i32'] as const)
    const presentOp = (g: NodeWriter, present: string) => g.cast(g.cast(present, type), 'f32')
    return { label: `states through ${type}`, form: { presentOp }, isRounded: type === 'f16' }
  },
]

export const ROWS: readonly ((room: Room) => Kind)[] = [
  (room) => {
    const type = room.random.pick(['f16', 'i32', 'i64', 'bool', 'f32'] as const)
    const rowsOp = (g: NodeWriter, rows: string) => g.cast(g.cast(rows, type), 'f32')
    return { label: `rows through ${type}`, form: { rowsOp }, isRounded: type === 'f16' }
  },
  (room) => {
    const by = room.random.pick([0, 0.5, -2, 1, 4])
    const op = room.random.pick(['Mul', 'Div'])
    return { label: `rows ${op} ${by}`, form: { rowsOp: (g, rows) => g.op(op, [rows, g.float(by)]) } }
  },
]

/** Makes the gate the last columns of one product with the rows that it gates. */
export const gateLast: NonNullable<DecoderForm['edit']> = (g) =>
  g.replace(
    ({ op, outputs }) => op === 'Split' && outputs.length === 2,
    ({ op, inputs, outputs, attributes }) => g.node(op, inputs, [...outputs].reverse(), attributes),
  )
