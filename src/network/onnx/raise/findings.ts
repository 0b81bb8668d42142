// Findings: facts about the whole model that handlers record while they translate its nodes. In: the
// properties of one layer. Out: the properties common to all layers, or an error that names the node that
// differs.
import type { RopeScaling } from '../../../core/arch/config/config.ts'
import type { Node } from '../ir/graph.ts'
import { unclaimed } from '../ir/operator.ts'

/** Frequencies, with the cosine and sine tables from which they were derived. */
interface FoundRotation {
  readonly table: string
  readonly theta: number
  readonly scaling?: RopeScaling | undefined
  /** Number of rotated dimensions per head. */
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
  /** The rotation of layers with full attention, and of those with a window. */
  readonly ropes: { all?: FoundRotation; local?: FoundRotation }
  /**
   * Number of positions in the RoPE table or the learned table: the maximum that the model was trained for.
   */
  tablePositions: number | undefined
  readonly norms: Set<'rms' | 'layer'>
  /** Position embeddings that are added to token embeddings. */
  hasPositions: boolean
  /** The number of positions for which control values are proven, if that limits the context, and why. */
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

/** All layers must have the same head counts and sizes; otherwise throws `unsupported`. */
export function noteHeads(
  findings: Findings,
  node: Node,
  { heads, kvHeads, headDim }: Pick<Findings, 'heads' | 'kvHeads' | 'headDim'>,
): void {
  const isSame = findings.heads === heads && findings.kvHeads === kvHeads && findings.headDim === headDim
  if (findings.heads !== 0 && !isSame)
    throw unclaimed(
      node,
      `it has ${heads} heads of width ${headDim} but earlier layers have ${findings.heads}`,
    )
  Object.assign(findings, { heads, kvHeads, headDim })
}

/** A step's RoPE tables, until it is known whether there are two rotations. */
export const ROPE_TABLE = { all: 0, local: 1 } as const

/** The rotation of layers with a window, if it differs from that of the others. */
export function localRope({ ropes: { all, local } }: Findings): FoundRotation | undefined {
  const isOther = all !== undefined && local !== undefined && !rotatesLike(all, local)
  return isOther ? local : undefined
}

/** Whether two rotations use the same frequencies. */
const rotatesLike = (one: FoundRotation, other: FoundRotation): boolean =>
  one.theta === other.theta &&
  one.dims === other.dims &&
  JSON.stringify(one.scaling) === JSON.stringify(other.scaling)

/** The rotation by these cosines and sines, if earlier layers have used them. */
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

/** Layers of one kind must rotate in the same way; throws `unsupported` for another base. */
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
      `it rotates ${rope.dims} numbers with base ${rope.theta} but earlier layers rotate ${known.dims} with base ` +
        `${known.theta}, or with other factors`,
    )
  findings.ropes[kind] = rope
  if (positions !== undefined)
    findings.tablePositions = Math.min(findings.tablePositions ?? positions, positions)
}

/** Records that a control value is proven only for this many positions. */
export function limitProof(findings: Findings, positions: number, why: string): void {
  const { proven } = findings
  if (proven === undefined || positions < proven.positions) findings.proven = { positions, why }
}
