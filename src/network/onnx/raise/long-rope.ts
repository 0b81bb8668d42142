// Finds the rotation of heads: from angles that the graph computes, from tables, or from two pairs of tables
// between which an If chooses by text length, as in LongRoPE.

import { magnitudeOf } from '../../../core/arch/rope.ts'
import { type Constant, type Node, producersOf } from '../ir/graph.ts'
import { graphOf, scalarOf, unclaimed } from '../ir/operator.ts'
import { knownRope, noteRope } from './findings.ts'
import type { Rotation } from './meaning.ts'
import { prove, provePositions } from './prove.ts'
import { computedRope, type FoundRope, frequenciesOf, tableRope } from './rope-table.ts'
import type { Translator } from './translator.ts'

/** Names of cosines and sines. */
type Names = readonly [string, string]
type Tables = readonly [Constant, Constant]

interface TableRope {
  readonly rope: Omit<FoundRope, 'precision'>
  /** Number of rotated numbers in a head. */
  readonly dims: number
  /** Number of rows in the tables. */
  readonly positions: number
}

/** Throws `unsupported` if the angle is not the position times a fixed frequency. */
export async function proveRope(
  t: Translator,
  node: Node,
  kind: 'all' | 'local',
  rotation: Rotation,
): Promise<void> {
  const { cos, sin, dims, positions: chosen } = rotation
  const table = JSON.stringify(rotation)
  if (knownRope(t.findings, node, kind, table) !== undefined) return
  if (chosen === undefined) {
    noteRope(t.findings, node, kind, { ...(await computedRope(t, node, rotation)), table, dims })
    return
  }
  const { rope, dims: found, positions } = await ropeOf(t, node, [cos, sin])
  if (found !== dims)
    throw unclaimed(node, `its tables ${cos} and ${sin} have ${found / 2} angles instead of ${dims / 2}`)
  await provePositions(t, node, chosen, positions)
  noteRope(t.findings, node, kind, { ...rope, table, dims }, positions)
}

/** The rotation by tables [position][dims / 2], or by the tables that an If chooses. */
export async function ropeOf(t: Translator, node: Node, names: Names): Promise<TableRope> {
  const tables = tablesIn(t.graph.constants, names)
  if (tables !== undefined) return found(await tableRope(t, node, tables, names), tables)
  const choice = producersOf(t.graph).get(names[0])
  if (choice?.op !== 'If' || producersOf(t.graph).get(names[1]) !== choice)
    throw unclaimed(node, `its tables ${names.join(' and ')} are neither constants nor chosen by one If`)
  return chosenRope(t, node, choice, names)
}

const found = (rope: FoundRope, [{ dims }]: Tables): TableRope => ({
  rope,
  dims: 2 * (dims[1] ?? 0),
  positions: dims[0] ?? 0,
})

function tablesIn(constants: ReadonlyMap<string, Constant>, [cos, sin]: Names): Tables | undefined {
  const one = constants.get(cos)
  const other = constants.get(sin)
  return one && other && [one, other]
}

/** Short texts are rotated by one pair of tables, longer ones by the other. */
async function chosenRope(t: Translator, node: Node, choice: Node, names: Names): Promise<TableRope> {
  const { first, last } = await lengthOf(t, choice)
  const ropeIn = async (branch: boolean) => {
    const graph = graphOf(choice, branch ? 'then_branch' : 'else_branch')
    const inner = names.map((name) => graph?.outputs[choice.outputs.indexOf(name)] ?? '')
    const all = new Map([...t.graph.constants, ...(graph?.constants ?? [])])
    for (const { outputs, attributes } of graph?.nodes ?? []) {
      const value = attributes.get('value')
      if (value?.kind === 'tensor') all.set(outputs[0] ?? '', value.value)
    }
    const tables = tablesIn(all, [inner[0]!, inner[1]!])
    if (tables === undefined)
      throw unclaimed(choice, `its branch does not have ${inner.join(' and ')} as tables`)
    return found(await tableRope(t, node, tables, inner), tables)
  }
  const short = await ropeIn(first)
  if (last === undefined) return short
  const long = await ropeIn(!first)
  if (short.dims !== long.dims || short.positions < last)
    throw unclaimed(
      choice,
      `after ${last} positions it switches from a table of ${short.positions} x ${short.dims} numbers to one of ` +
        `${long.positions} x ${long.dims}; only tables of the same rotation are supported`,
    )
  const [magnitude, other] = [short, long].map(({ rope }) => magnitudeOf(rope))
  if (Math.abs(magnitude! - other!) > MAX_APART)
    throw unclaimed(
      choice,
      `its tables are multiplied by ${magnitude} and ${other}; only one factor is supported`,
    )
  const { theta } = short.rope
  const half = short.dims / 2
  const [shortFactors, longFactors] = [short, long].map(({ rope }) =>
    frequenciesOf(half, rope).map((each, pair) => theta ** (-pair / half) / each),
  ) as [number[], number[]]
  const scaling = {
    type: 'longrope',
    originalContextLength: last,
    shortFactors,
    longFactors,
    magnitude: magnitude!,
  } as const
  return { ...long, rope: { theta, scaling } }
}

/** Maximum difference between magnitudes that are equal in f16. */
const MAX_APART = 2 ** -10

/**
 * The branch that the shortest text takes, and the longest text that takes it; undefined if all texts take
 * it.
 */
async function lengthOf(t: Translator, choice: Node): Promise<{ first: boolean; last: number | undefined }> {
  const [condition = ''] = choice.inputs
  let first: boolean | undefined
  let last: number | undefined
  let longest = 0
  await prove(t, choice, [condition], {
    shape: { width: 1 },
    check([value], { tokens, past }) {
      const total = tokens + past
      const taken = scalarOf(value!) !== 0
      first ??= taken
      if (last === undefined && taken !== first && longest === total - 1) last = longest
      if (taken !== (total > (last ?? total) ? !first : first))
        throw unclaimed(
          choice,
          `it takes another branch for ${tokens} tokens after ${past} than for a text of ` +
            `${longest === total ? 'the same' : `${longest}`} length; only one length for all is supported`,
        )
      longest = total
    },
  })
  return { first: first ?? false, last }
}
