// Findings: facts about the whole model that handlers note while they translate its nodes. In: the properties
// of one layer. Out: the common properties of all, or an error that names the node that differs.
import type { RopeScaling } from '../../../core/arch/config/config.ts'
import type { Node } from '../ir/graph.ts'
import { unclaimed } from '../ir/operator.ts'

/** Frequencies, and the cosines and sines that they were found in. */
interface FoundRotation {
  readonly table: string
  readonly theta: number
  readonly scaling?: RopeScaling | undefined
  /** Dimensions of a head that are rotated. */
  readonly dims: number
}

/** Facts about the whole model that handlers find. */
export interface Findings {
  heads: number
  kvHeads: number
  headDim: number
  intermediateSize: number
  normEpsilon: number
  layers: number
  /** How layers rotate that attend to everything, and those with a window. */
  readonly ropes: { all?: FoundRotation; local?: FoundRotation }
  /**
   * Number of positions in the RoPE table or the learned table. The maximum that the model was trained for.
   */
  tablePositions: number | undefined
  readonly norms: Set<'rms' | 'layer'>
  /** Embeddings of positions that are added to those of tokens. */
  hasPositions: boolean
  /** The number of positions for which control values are proven, if it limits the context, and why. */
  proven?: { readonly positions: number; readonly why: string } | undefined
}

export const noFindings = (): Findings => ({
  heads: 0,
  kvHeads: 0,
  headDim: 0,
  intermediateSize: 0,
  normEpsilon: 0,
  layers: 0,
  ropes: {},
  tablePositions: undefined,
  norms: new Set(),
  hasPositions: false,
})

/** All layers have one kind of heads. Throws `unsupported` for another. */
export function noteHeads(
  findings: Findings,
  node: Node,
  { heads, kvHeads, headDim }: Pick<Findings, 'heads' | 'kvHeads' | 'headDim'>,
): void {
  const isSame = findings.heads === heads && findings.kvHeads === kvHeads && findings.headDim === headDim
  if (findings.heads !== 0 && !isSame)
    throw unclaimed(node, `it has ${heads} heads of ${headDim} where layers before it have ${findings.heads}`)
  Object.assign(findings, { heads, kvHeads, headDim })
}

/** Tables of a step, until it is known whether there are two. */
export const ROPE_TABLE = { all: 0, local: 1 } as const

/** The rotation of layers with a window, if it differs from that of the others. */
export function localRope({ ropes: { all, local } }: Findings): FoundRotation | undefined {
  const isOther = all !== undefined && local !== undefined && !rotatesLike(all, local)
  return isOther ? local : undefined
}

/** Whether two rotations are by the same frequencies. */
const rotatesLike = (one: FoundRotation, other: FoundRotation): boolean =>
  one.theta === other.theta &&
  one.dims === other.dims &&
  JSON.stringify(one.scaling) === JSON.stringify(other.scaling)

/** The rotation by these cosines and sines, where layers before have used them. */
export function knownRope(
  findings: Findings,
  node: Node,
  kind: 'all' | 'local',
  table: string,
): FoundRotation | undefined {
  const { all, local } = findings.ropes
  const known = [all, local].find((each) => each?.table === table)
  if (known !== undefined) noteRope(findings, node, kind, known)
  return known
}

/** Layers of a kind rotate alike. Throws `unsupported` for another base. */
export function noteRope(
  findings: Findings,
  node: Node,
  kind: 'all' | 'local',
  rope: FoundRotation,
  positions?: number,
): void {
  const known = findings.ropes[kind]
  if (known !== undefined && !rotatesLike(known, rope))
    throw unclaimed(
      node,
      `it rotates ${rope.dims} numbers by base ${rope.theta} and layers before it ${known.dims} by base ` +
        `${known.theta}, or by other factors`,
    )
  findings.ropes[kind] = rope
  if (positions !== undefined)
    findings.tablePositions = Math.min(findings.tablePositions ?? positions, positions)
}

/** Notes that a control value is proven only for this many positions. */
export function limitProof(findings: Findings, positions: number, why: string): void {
  const { proven } = findings
  if (proven === undefined || positions < proven.positions) findings.proven = { positions, why }
}
