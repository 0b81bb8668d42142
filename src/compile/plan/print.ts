// Prints a plan: its groups with what they read and write, and what fusion and views save.
import { movedBy, type Plan, type Step } from './plan.ts'

export function printNetworkPlan({ steps, report, arenaBytes }: Plan): string {
  const { loops, groups, movedBytes, unfusedBytes, viewBytes, viewNodes, copiedBytes, valueBytes } = report
  const kernels = new Set(steps.map(({ key }) => key)).size
  return [
    `${loops} loops in ${groups} groups, which ${kernels} functions serve`,
    `views: ${viewNodes} nodes move ${viewBytes} bytes as copies, and ${copiedBytes} bytes as compiled`,
    `values: loops one by one read and write ${unfusedBytes} bytes, groups ${movedBytes}`,
    `memory: ${arenaBytes} bytes at most at once, where all values together have ${valueBytes}`,
    '',
    ...steps.map(printStep),
  ].join('\n')
}

const MOST_NODES = 4

function printStep({ call, units, nodes }: Step, index: number): string {
  const { kernel, outer, inner, product } = call
  const what =
    product === undefined
      ? `rows [${[...outer, inner].join(', ')}] in ${kernel.passes} ${kernel.passes === 1 ? 'pass' : 'passes'}`
      : `product [${[...outer, product.m, product.k, product.n].join(', ')}], B ${kernel.product?.b}`
  const { read, written } = movedBy(call)
  const more = nodes.length > MOST_NODES ? ` and ${nodes.length - MOST_NODES} more` : ''
  const names = `${nodes.slice(0, MOST_NODES).join(', ')}${more}`
  return `${index}  ${what}, ${units} units, reads ${read}, writes ${written}  ${names}`
}
