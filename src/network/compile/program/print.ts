// Prints a program: its steps with the values they read and write, and what fusion and views save.
import { bytesText, type Column, stepPage, type Total } from '../../../core/graph/plan/step-table.ts'
import { dimsOf } from '../loops/loops.ts'
import type { Program } from './program.ts'
import { movedBy, reportOf } from './report.ts'
import { emitted, type Step } from './step.ts'

const COLUMNS: readonly Column[] = [
  { heading: '#', isNumber: true },
  { heading: 'step' },
  { heading: 'sizes' },
  { heading: 'B' },
  { heading: 'units', isNumber: true },
  { heading: 'reads', isNumber: true },
  { heading: 'writes', isNumber: true },
  { heading: 'nodes' },
]

/** One line per step, then the totals. `B` says how a product reads its second matrix. */
export function printProgram(program: Program): string {
  const rows = program.steps.map((step, index) => {
    const { read, written } = movedBy(step)
    return [`${index}`, ...formOf(step), bytesText(read), bytesText(written), nodesOf(step)]
  })
  return stepPage(COLUMNS, rows, totalsOf(program))
}

/** What a step does, its sizes, its B and its units. */
function formOf(step: Step): readonly [string, string, string, string] {
  if ('kernel' in step) {
    const { kernel } = step
    const rows = dimsOf(kernel.args[0])
    if (kernel.loop === 'quantize') return ['8-bit codes', listOf(rows), '', '']
    return ['product', listOf([rows[0]!, ...dimsOf(kernel.matrix)]), kernel.encoding, '']
  }
  const { kernel, outer, inner, product } = step.call
  if (product !== undefined)
    return [
      'product',
      listOf([...outer, product.m, product.k, product.n]),
      kernel.product?.b ?? '',
      `${step.units}`,
    ]
  const passes = `${kernel.passes} ${kernel.passes === 1 ? 'pass' : 'passes'}`
  return [passes, listOf([...outer, inner]), '', `${step.units}`]
}

const listOf = (sizes: readonly number[]): string => `[${sizes.join(', ')}]`

const MAX_NODES = 4

function nodesOf({ nodes }: Step): string {
  const more = nodes.length > MAX_NODES ? ` and ${nodes.length - MAX_NODES} more` : ''
  return `${nodes.slice(0, MAX_NODES).join(', ')}${more}`
}

function totalsOf(program: Program): readonly Total[] {
  const { steps, arenaBytes } = program
  const {
    loops,
    groups,
    movedBytes,
    unfusedBytes,
    viewBytes,
    viewNodes,
    copiedBytes,
    conversions,
    valueBytes,
  } = reportOf(program)
  const own = emitted(steps)
  const functions = new Set(own.map(({ key }) => key)).size
  const byKernels = steps.length - own.length
  const kernels = byKernels > 0 ? `; ${byKernels} of the groups are engine kernels` : ''
  return [
    ['loops', `${loops} in ${groups} groups, served by ${functions} functions${kernels}`],
    [
      'views',
      `${viewNodes} nodes would move ${bytesText(viewBytes)} as copies, but move ${bytesText(copiedBytes)} when compiled`,
    ],
    [
      'layouts',
      `${conversions.alone.length} steps only convert a layout; ${conversions.fused.length} convert one as they compute`,
    ],
    [
      'values',
      `unfused loops would read and write ${bytesText(unfusedBytes)}; the groups move ${bytesText(movedBytes)}`,
    ],
    ['arena peak', `${bytesText(arenaBytes)}; all values together take ${bytesText(valueBytes)}`],
  ]
}
