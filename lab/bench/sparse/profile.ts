// node lab/bench/sparse/profile.ts DENSE SPARSE... shows where a token's time goes: milliseconds of each kind
// of op in a decoded token and of the whole step, with the packs in turn. On a busy machine, --lowest leaves
// out most of what other programs take: an op's time is its lowest tenth.
import { cpus, loadavg } from 'node:os'
import { Command } from 'commander'
import { slotsOf } from '../../../src/core/graph/plan/cost.ts'
import type { Plan } from '../../../src/core/graph/plan/plan.ts'
import { withPrepared } from '../../../src/tools/cli/models/model.ts'
import { nodeHost } from '../../../src/tools/cli/node-host.ts'
import { median } from '../../../src/tools/evaluate/report.ts'
import { openTimedPlan, type RepeatedStep } from '../../../src/tools/shrink/costs/timed-plan.ts'

const command = new Command('profile')
  .argument('<packs...>', 'files; the others are compared with the first')
  .option('--threads <n>', 'threads', Number, 1)
  .option('--position <n>', 'positions before the token that is timed', Number, 512)
  .option('--samples <n>', 'samples per pack; medians are shown', Number, 40)
  .option('--lowest', 'lowest tenth of the samples of each op instead of medians', false)
  .parse()
const { threads, position, samples, lowest } = command.opts<{
  threads: number
  position: number
  samples: number
  lowest: boolean
}>()
const { signal } = new AbortController()
const host = nodeHost()

/** The name of the matrices that an op reads, e.g. `mlp_down`, or else the op's own name. */
function kindsOf({ ops, slots }: Plan): string[] {
  return ops.map((op) => {
    const [slot] = slotsOf(op)
    const ref = slot === undefined ? undefined : slots[slot]!.ref
    if (ref?.kind !== 'matrix') return op.name
    const names = ref.parts.map(({ name }) => /^layers\.\d+\.(.*)\.weight$/.exec(name)?.[1])
    return names.includes(undefined) ? 'logits' : names.join(' + ')
  })
}

interface Profiled {
  readonly name: string
  readonly step: RepeatedStep
  readonly kinds: readonly string[]
  /** Milliseconds of each op, one array per sample. */
  readonly times: number[][]
  readonly whole: number[]
}

const packs: Profiled[] = []
for (const name of command.args) {
  packs.push(
    await withPrepared(name, { weights: 'auto' }, signal, async (prepared) => {
      const timed = await openTimedPlan(prepared, { host, build: 'auto', threads, signal })
      await timed.resize(Math.min(threads, timed.maxThreads))
      const step = timed.repeat({ tokens: 1, logitRows: 1, position })
      return { name, step, kinds: kindsOf(prepared.plan), times: [], whole: [] }
    }),
  )
}
for (let sample = 0; sample < samples; sample++) {
  for (const { step, times, whole } of packs) {
    whole.push(step.steps(1))
    times.push([...step.ops(1)])
  }
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)
const tenth = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 10)]!
/** Milliseconds of the ops at these places. */
function timeOf(times: readonly number[][], places: readonly number[]): number {
  if (lowest) return sum(places.map((at) => tenth(times.map((sample) => sample[at]!))))
  return median(times.map((sample) => sum(places.map((at) => sample[at]!))))
}
/** The places of a kind's ops. */
const placesOf = ({ kinds }: Profiled, kind: string) => [...kinds.keys()].filter((at) => kinds[at] === kind)

console.log(`${cpus().length} x ${cpus()[0]?.model}, load ${loadavg()[0]?.toFixed(1)}\n`)
console.log(`| ms of a token | ${packs.map(({ name }) => name.split('/').at(-1)).join(' | ')} |`)
console.log(`|---|${packs.map(() => '--:').join('|')}|`)
const row = (title: string, of: (pack: Profiled) => number) =>
  console.log(`| ${title} | ${packs.map((pack) => of(pack).toFixed(3)).join(' | ')} |`)
for (const kind of new Set(packs[0]!.kinds)) row(kind, (pack) => timeOf(pack.times, placesOf(pack, kind)))
row('all ops', ({ times, kinds }) => timeOf(times, [...kinds.keys()]))
row('whole step', ({ whole }) => (lowest ? tenth(whole) : median(whole)))
process.exit()
