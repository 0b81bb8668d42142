// Prints a plan: its groups with their inputs and outputs, and the bytes saved by fusion and views.
import { dimsOf } from '../loops/program.ts'
import { emitted, movedBy, type Plan, type Step } from './plan.ts'

export function printNetworkPlan({ steps, report, arenaBytes }: Plan): string {
  const { loops, groups, movedBytes, unfusedBytes, viewBytes, viewNodes, copiedBytes, valueBytes } = report
  const own = emitted(steps)
  const functions = new Set(own.map(({ key }) => key)).size
  const byKernels = steps.length - own.length
  return [
    `${loops} loops in ${groups} groups, which ${functions} functions serve`,
    ...(byKernels > 0 ? [`${byKernels} of the groups are kernels of the engine`] : []),
    `views: ${viewNodes} nodes move ${viewBytes} bytes as copies, and ${copiedBytes} bytes as compiled`,
    `values: loops one by one read and write ${unfusedBytes} bytes, groups ${movedBytes}`,
    `memory: ${arenaBytes} bytes at most at once, where all values together have ${valueBytes}`,
    '',
    ...steps.map(printStep),
  ].join('\n')
}

const MOST_NODES = 4

function printStep(step: Step, index: number): string {
  const { nodes } = step
  const { read, written } = movedBy(step)
  const more = nodes.length > MOST_NODES ? ` and ${nodes.length - MOST_NODES} more` : ''
  const names = `${nodes.slice(0, MOST_NODES).join(', ')}${more}`
  return `${index}  ${whatOf(step)}, reads ${read}, writes ${written}  ${names}`
}

function whatOf(step: Step): string {
  if ('kernel' in step) {
    const { kernel } = step
    const [m, ...rest] = dimsOf(kernel.args[0])
    if (kernel.loop === 'quantize') return `rows [${[m, ...rest].join(', ')}] to 8-bit codes`
    return `product [${[m, ...dimsOf(kernel.matrix)].join(', ')}], B ${kernel.encoding}`
  }
  const { kernel, outer, inner, product } = step.call
  const what =
    product === undefined
      ? `rows [${[...outer, inner].join(', ')}] in ${kernel.passes} ${kernel.passes === 1 ? 'pass' : 'passes'}`
      : `product [${[...outer, product.m, product.k, product.n].join(', ')}], B ${kernel.product?.b}`
  return `${what}, ${step.units} units`
}
