// node lab/bench/sparse/profile.ts DENSE SPARSE... shows where a token's time goes: milliseconds of each kind
// of op in a decoded token and of the whole step, with the packs in turn.
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
  .parse()
const { threads, position, samples } = command.opts<{
  threads: number
  position: number
  samples: number
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
  /** Milliseconds by kind, one value per sample. */
  readonly times: Map<string, number[]>
  readonly whole: number[]
}

const packs: Profiled[] = []
for (const name of command.args) {
  packs.push(
    await withPrepared(name, { weights: 'auto' }, signal, async (prepared) => {
      const timed = await openTimedPlan(prepared, { host, build: 'auto', threads, signal })
      await timed.resize(Math.min(threads, timed.maxThreads))
      const step = timed.repeat({ tokens: 1, logitRows: 1, position })
      const times = new Map<string, number[]>()
      return { name, step, kinds: kindsOf(prepared.plan), times, whole: [] }
    }),
  )
}
for (let sample = 0; sample < samples; sample++) {
  for (const { step, kinds, times, whole } of packs) {
    whole.push(step.steps(1))
    const own = new Map<string, number>()
    for (const [at, ms] of step.ops(1).entries()) own.set(kinds[at]!, (own.get(kinds[at]!) ?? 0) + ms)
    for (const [kind, ms] of own) times.set(kind, [...(times.get(kind) ?? []), ms])
  }
}
console.log(`${cpus().length} x ${cpus()[0]?.model}, load ${loadavg()[0]?.toFixed(1)}\n`)
console.log(`| ms of a token | ${packs.map(({ name }) => name.split('/').at(-1)).join(' | ')} |`)
console.log(`|---|${packs.map(() => '--:').join('|')}|`)
const row = (title: string, of: (pack: Profiled) => number) =>
  console.log(`| ${title} | ${packs.map((pack) => of(pack).toFixed(3)).join(' | ')} |`)
for (const kind of packs[0]!.times.keys()) row(kind, ({ times }) => median(times.get(kind) ?? []))
row('whole step', ({ whole }) => median(whole))
process.exit()
