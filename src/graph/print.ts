// Print. In: a plan. Out: a page of text that shows its ops, shapes, bytes and peak.
import { OP_CODE, type OpName } from './op-codes.ts'
import type { Plan, PlanOp } from './plan.ts'
import { BLOCK_POSITIONS } from './state-layout.ts'
import { planTotals, slotsOf, weightBytes } from './totals.ts'

const HEADINGS = ['#', 'op', 'output', 'reads', 'writes', 'encoding', 'weights', 'state']
const RIGHT_ALIGNED = new Set([0, 6])

/** Aligned plain text: one line per op, then the totals. Arena positions are byte offsets. */
export function printPlan(plan: Plan): string {
  const rows = plan.ops.map((op, index) => [
    `${index}`,
    op.name,
    op.label,
    arenaOf(op, READS[op.name as OpName]),
    arenaOf(op, WRITES[op.name as OpName]),
    encodingOf(plan, op),
    slotsOf(op).length === 0 ? '' : bytesText(weightBytes(plan, op)),
    stateOf(op),
  ])
  return [...table([HEADINGS, ...rows]), '', ...totalLines(plan), ''].join('\n')
}

function stateOf({ fields }: PlanOp): string {
  if (typeof fields['group'] !== 'number') return ''
  return 'state_offset' in fields
    ? `slab at ${fields['state_offset']}`
    : `group ${fields['group']} at ${fields['k_offset']}`
}

/** Fields that an op reads rows from and writes rows to; in-place ones are in both. */
const READS: Readonly<Record<OpName, readonly string[]>> = forOps({
  embed: [],
  rmsnorm: ['x'],
  quantize: ['x'],
  linear: ['x'],
  linear_swiglu: ['x'],
  rope_kv: ['q', 'k', 'v'],
  attention: ['q'],
  swiglu: ['gate', 'up'],
  conv1d: ['x'],
  scan: ['u', 'dt', 'z', 'b', 'c'],
  ssd: ['x', 'dt', 'z', 'b', 'c'],
  add: ['x', 'y'],
  layernorm: ['x'],
  rescale: ['y'],
  renorm: ['x', 'y'],
  route: ['x'],
  gather: ['x', 'route'],
  combine: ['x', 'route'],
})
const WRITES: Readonly<Record<OpName, readonly string[]>> = forOps({
  embed: ['y'],
  rmsnorm: ['y', 'q'],
  quantize: ['q'],
  linear: ['y'],
  linear_swiglu: ['q'],
  rope_kv: ['q'],
  attention: ['y', 'a8', 'parts'],
  swiglu: ['y', 'q'],
  conv1d: ['y', 'q'],
  scan: ['y', 'q'],
  ssd: ['y'],
  add: ['y'],
  layernorm: ['y', 'q'],
  rescale: ['y'],
  renorm: ['y'],
  route: ['route'],
  gather: ['y'],
  combine: ['y'],
})

function forOps(byName: Readonly<Record<string, readonly string[]>>): Record<OpName, readonly string[]> {
  const names = Object.keys(OP_CODE) as OpName[]
  return Object.fromEntries(
    names.map((name) => [name, byName[/^linear_swiglu|^linear/.exec(name)?.[0] ?? name] ?? []]),
  ) as Record<OpName, readonly string[]>
}

function arenaOf(op: PlanOp, fields: readonly string[]): string {
  const offsets = fields.flatMap((field) => {
    const value = op.fields[field]
    return typeof value === 'object' && 'arena' in value ? [`${field} ${value.arena}`] : []
  })
  return `${offsets.join(' ')}${op.fields['accumulate'] === 1 && offsets[0]?.startsWith('y') ? ' +=' : ''}`
}

function encodingOf(plan: Plan, op: PlanOp): string {
  return plan.slots[slotsOf(op)[0] ?? -1]?.encoding ?? ''
}

function totalLines(plan: Plan): string[] {
  const totals = planTotals(plan)
  const state = plan.stateGroups.map(
    ({ layers, kvHeads, headDim, window, format }, index) =>
      `state group ${index}   ${bytesText(totals.blockBytes[index] ?? 0)} per ${BLOCK_POSITIONS} positions: ` +
      `layers ${layers.length}, KV heads ${kvHeads}, head dim ${headDim}, K ${format.k}, V ${format.v}, ${window === 0 ? 'all positions' : `window ${window}`}`,
  )
  const perBlock = totals.blockBytes.reduce((sum, bytes) => sum + bytes, 0)
  return [
    `weights         ${bytesText(totals.weightBytes)} in ${plan.slots.length} slots`,
    `arena peak      ${bytesText(totals.arenaBytes)} for ${plan.tokens} tokens, ${plan.logitRows} rows of logits`,
    ...state,
    ...(totals.slabBytes > 0
      ? [`slab            ${bytesText(totals.slabBytes)} per sequence, however long it is`]
      : []),
    `decode reads    ${bytesText(totals.decodeBytes)} of weights, ${bytesText(perBlock)} of state per ${BLOCK_POSITIONS} positions`,
  ]
}

/** Columns as wide as their widest cell, two spaces between. */
function table(rows: readonly (readonly string[])[]): string[] {
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows.map((row) =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0
        return RIGHT_ALIGNED.has(column) ? cell.padStart(width) : cell.padEnd(width)
      })
      .join('  ')
      .trimEnd(),
  )
}

/** With thousands separated: `1 234 567 B`. */
const bytesText = (bytes: number): string => `${String(bytes).replace(/\B(?=(\d{3})+$)/g, ' ')} B`
