// Staying awake. In: waits for messages. Out: a worker that does not fall asleep over short ones, where tasks have priorities.

/** Together about a millisecond: longer waits are for others to use the core. */
const MOST_TASKS = 40

interface TaskScheduler {
  postTask(task: () => void, options: { readonly priority: 'background' }): Promise<void>
}

const { scheduler } = globalThis as { readonly scheduler?: Partial<TaskScheduler> }

/**
 * Waking a thread takes longer than sending a message to one that runs. Only background tasks keep it running without
 * getting in the messages' way.
 */
export class Awake {
  #left = 0
  #isPosted = false

  // hot
  /** Until `rest`, or for so many tasks. */
  stay(): void {
    this.#left = MOST_TASKS
    if (!this.#isPosted) this.#post()
  }

  rest(): void {
    this.#left = 0
  }

  #post(): void {
    this.#isPosted = scheduler?.postTask?.(this.#task, { priority: 'background' }) !== undefined
  }

  readonly #task = (): void => {
    this.#isPosted = false
    if (this.#left-- > 0) this.#post()
  }
}
