// Prints a plan as a page of text with its ops, shapes, bytes and peak.

import { BLOCK_POSITIONS } from '../../abi/constants.ts'
import { type OpEntry, opEntry } from '../../abi/ops.ts'
import { planTotals, slotsOf, weightBytes } from './cost.ts'
import type { Plan, PlanOp } from './plan.ts'
import { bytesText, type Column, stepPage, type Total } from './step-table.ts'

const COLUMNS: readonly Column[] = [
  { heading: '#', isNumber: true },
  { heading: 'op' },
  { heading: 'output' },
  { heading: 'reads' },
  { heading: 'writes' },
  { heading: 'encoding' },
  { heading: 'weights', isNumber: true },
  { heading: 'state' },
]

/** One line per op, then the totals. Arena positions are byte offsets. */
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
  return stepPage(COLUMNS, rows, totalsOf(plan))
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

function totalsOf(plan: Plan): readonly Total[] {
  const totals = planTotals(plan)
  const state = plan.stateGroups.map(
    ({ layers, kvHeads, headDim, window, format }, index): Total => [
      `state group ${index}`,
      `${bytesText(totals.blockBytes[index] ?? 0)} per ${BLOCK_POSITIONS} positions: ` +
        `layers ${layers.length}, KV heads ${kvHeads}, head dim ${headDim}, K ${format.k}, V ${format.v}, ${window === 0 ? 'all positions' : `window ${window}`}`,
    ],
  )
  const perBlock = totals.blockBytes.reduce((sum, bytes) => sum + bytes, 0)
  return [
    ['weights', `${bytesText(totals.weightBytes)} in ${plan.slots.length} slots`],
    [
      'arena peak',
      `${bytesText(totals.arenaBytes)} for ${plan.tokens} tokens, ${plan.logitRows} rows of logits`,
    ],
    ...state,
    ...(totals.slabBytes > 0
      ? [['slab', `${bytesText(totals.slabBytes)} per sequence, however long it is`] as const]
      : []),
    [
      'decode reads',
      `${bytesText(totals.decodeBytes)} of weights, ${bytesText(perBlock)} of state per ${BLOCK_POSITIONS} positions`,
    ],
  ]
}
