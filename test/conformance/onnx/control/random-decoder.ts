// Random decoders. In: a seed and a number. Out: a decoder's form with random control values, lengths on both
// sides of its thresholds, and the choices made.
import { Random } from '../../../helpers/random.ts'
import { HEAD_DIM } from './decoder.ts'
import type { DecoderForm } from './form.ts'
import {
  AGAIN,
  ANGLES,
  type Kind,
  LENGTHS,
  MASKS,
  POSITIONS,
  ROWS,
  type Room,
  STATES,
  TABLES,
} from './kinds.ts'

interface RandomDecoder {
  readonly labels: readonly string[]
  readonly form: DecoderForm
  readonly lengths: readonly number[]
  readonly isRounded: boolean
}

/** Positions of the longest text; learned positions need one row each. */
const TABLE_ROWS = 1536

/** `most`: the largest threshold of control values. */
export function randomDecoder(seed: number, index: number, most: number): RandomDecoder {
  const random = new Random(seed, index)
  const room: Room = { random, most }
  const base = baseOf(random)
  const kinds: Kind[] = []
  let form = base
  for (let count = random.pick([0, 1, 1, 1, 1, 2]); count > 0; count--) {
    const draw = random.pick(random.pick(fitting(base)))
    const kind = draw(room)
    // Two of one kind would replace each other.
    if (
      Object.keys(kind.form).some(
        (key) => key !== 'tableRows' && form[key as keyof DecoderForm] !== base[key as keyof DecoderForm],
      )
    )
      continue
    form = { ...form, ...kind.form }
    kinds.push(kind)
  }
  const numbers = kinds.flatMap((each) => each.numbers ?? [])
  const sides = numbers.flatMap((each) => [each - 1, each, each + 1, each + 2, each + 5])
  const isAsked = (each: number) => kinds.every(({ within }) => within?.(each) ?? true)
  const lengths = [3, 9, ...sides].filter(
    (each) => each > 0 && each <= Math.min(most + 5, TABLE_ROWS - 8) && isAsked(each),
  )
  const isRounded = kinds.some((each) => each.isRounded === true)
  return { labels: kinds.map(({ label }) => label), form, lengths, isRounded }
}

function baseOf(random: Random): DecoderForm {
  const attention = random.pick(['primitive', 'primitive', 'multi-head', 'group', 'standard'] as const)
  const isPrimitive = attention === 'primitive'
  const places = isPrimitive
    ? random.pick(['rope', 'rope', 'learned', 'none'] as const)
    : random.pick(['op', 'op', 'learned', 'none'] as const)
  const form: DecoderForm = {
    attention,
    places,
    seed: 1 + random.below(1000),
    tableRows: TABLE_ROWS,
    layers: random.chance(0.3) ? 2 : 1,
    kvHeads: random.chance(0.3) ? 2 : 1,
    hasState: attention === 'group' || random.chance(0.8),
    form: isPrimitive ? random.pick(['added', 'added', 'kept', 'dropped'] as const) : 'added',
    ...(random.chance(0.4) && { merged: random.pick(['slice', 'split'] as const) }),
    ...(isPrimitive && random.chance(0.15) && { merged: 'by-head', kvHeads: 2 }),
    ...(isPrimitive && random.chance(0.3) && { cap: random.pick([0.5, 2, 30]) }),
    ...(isPrimitive && {
      copies: random.pick(['expand', 'tile', 'gather', 'tile heads', 'expand heads'] as const),
    }),
    ...(places === 'rope' && random.chance(0.4) && { turned: random.pick([4, 8, HEAD_DIM]) }),
    ...(places === 'rope' &&
      random.chance(0.4) && { neighbours: random.pick(['slice', 'split', 'gather'] as const) }),
    ...(places === 'rope' && random.chance(0.3) && { turnsFirst: true }),
    ...(random.chance(0.4) && {
      activation: random.pick(['relu', 'relu squared', 'relu power'] as const),
    }),
  }
  // Heads interleaved in one product are split only after heads and tokens are swapped.
  if (form.merged === 'by-head') return { ...form, turnsFirst: false }
  // ReLU clamps whole groups of columns, and a slice of 16 is not one.
  return form.merged === undefined ? form : { ...form, activation: 'silu' }
}

/** The kinds that make a difference in such a decoder. */
function fitting({ attention, places, hasState, layers, form, merged, turned }: DecoderForm) {
  const hasAgain = attention === 'primitive' && hasState
  const isGroup = attention === 'group'
  const masks = MASKS.filter((_, index) => form === 'added' || index < MASKS.length - 2)
  const stateless = masks.filter((_, index) => index !== MASK_OF_RUN)
  return [
    ...(isGroup ? [LENGTHS, LENGTHS, masks] : hasState ? [masks, masks] : [stateless, stateless]),
    ...(hasAgain ? [AGAIN] : []),
    ...(places === 'rope' ? [POSITIONS] : []),
    // These kinds assume heads that are rotated as a whole.
    ...(places === 'rope' && turned === undefined ? [ANGLES] : []),
    ...(places === 'op' ? [TABLES] : []),
    ...(places === 'learned' || places === 'op' ? [POSITIONS] : []),
    ...(hasState && layers === 2 ? [STATES, STATES] : []),
    // Plans scale in place, which is impossible for product columns that have other readers.
    ...(merged === undefined ? [ROWS] : []),
  ]
}

/** The mask that reads an input that only graphs with states have. */
const MASK_OF_RUN = MASKS.findIndex((draw) =>
  draw({ random: new Random(1), most: 10 }).label.startsWith('the mask of the run'),
)
