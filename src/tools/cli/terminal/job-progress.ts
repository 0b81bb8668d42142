// Estimates how long a job will still take. In: the costs of its phases, and the share of each that is done.
// Out: the time left, extrapolated from the work of this run.

interface PhaseState {
  /** The share that was already done when this run began the phase. */
  readonly first: number
  readonly startedAt: number
  share: number
  /** When the share last grew. */
  grownAt: number
}

/** There is no estimate before this share of the work is done. */
const MIN_SHARE = 0.05
const MIN_MS = 3000
/** From this share on, a phase's own speed counts; until then, that of the earlier phases. */
const OWN_SHARE = 0.1

export class JobProgress<Phase extends string> {
  readonly #costs: readonly (readonly [Phase, number])[]
  readonly #now: () => number
  readonly #states = new Map<Phase, PhaseState>()

  /** `costs`: about how long each phase takes, in order, in any unit. */
  constructor(costs: Readonly<Record<Phase, number>>, now: () => number = () => performance.now()) {
    this.#costs = Object.entries(costs) as [Phase, number][]
    this.#now = now
  }

  /**
   * Records the share of a phase that is done, and returns `, about 3 min left`, or nothing before an
   * estimate is possible. Phases before this one are over. Work of an earlier run does not count towards the
   * speed.
   */
  at(phase: Phase, share: number): string {
    const now = this.#now()
    const own = this.#states.get(phase) ?? { first: share, startedAt: now, share, grownAt: now }
    if (share > own.share) Object.assign(own, { share, grownAt: now })
    this.#states.set(phase, own)
    const left = this.#left(phase, own, now)
    return left === undefined ? '' : `, about ${duration(left)} left`
  }

  /** Milliseconds. */
  #left(phase: Phase, own: PhaseState, now: number): number | undefined {
    const index = this.#costs.findIndex(([name]) => name === phase)
    const cost = this.#costs[index]?.[1] ?? 0
    const [first] = this.#states.values()
    const elapsed = now - (first?.startedAt ?? now)
    const before = this.#costs.slice(0, index)
    // A phase that was skipped has taken no time.
    const earlier = before.reduce((sum, [name, each]) => {
      const state = this.#states.get(name)
      return sum + (state === undefined ? 0 : each * (1 - state.first))
    }, 0)
    const ran = own.share - own.first
    const done = earlier + cost * ran
    const after = this.#costs.slice(index + 1).reduce((sum, [, each]) => sum + each, 0)
    const rest = cost * (1 - own.share)
    if (elapsed < MIN_MS || done < MIN_SHARE * (done + rest + after)) return undefined
    const waited = now - own.grownAt
    const pace = (elapsed - waited) / done
    const isKnown = cost > 0 && ran >= OWN_SHARE * (1 - own.first)
    const ownPace = isKnown ? (own.grownAt - own.startedAt) / (cost * ran) : pace
    // The current step has already used some of the remaining time.
    return Math.max(rest * ownPace - waited, (rest * ownPace) / 4) + after * pace
  }
}

/** `20 s`, `3 min` or `2.5 h`. */
export function duration(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / 1000))
  if (seconds < 90) return `${seconds} s`
  const minutes = Math.round(seconds / 60)
  return minutes < 120 ? `${minutes} min` : `${(minutes / 60).toFixed(1)} h`
}
