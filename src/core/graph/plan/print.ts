// Prints a plan as a page of text with its ops, shapes, bytes and peak.

import { BLOCK_POSITIONS } from '../../abi/constants.ts'
import { type OpEntry, opEntry } from '../../abi/ops.ts'
import { planTotals, slotsOf, weightBytes } from './cost.ts'
import type { Plan, PlanOp } from './plan.ts'

const HEADINGS = ['#', 'op', 'output', 'reads', 'writes', 'encoding', 'weights', 'state']
const RIGHT_ALIGNED = new Set([0, 6])

/** Aligned plain text: one line per op, then the totals. Arena positions are byte offsets. */
export function printPlan(plan: Plan): string {
  const rows = plan.ops.map((op, index) => [
    `${index}`,
    op.name,
    op.label,
    arenaOf(op, opEntry(op.name).reads),
    arenaOf(op, opEntry(op.name).writes),
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

function arenaOf(op: PlanOp, operands: OpEntry['reads']): string {
  const offsets = Object.keys(operands).flatMap((field) => {
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
