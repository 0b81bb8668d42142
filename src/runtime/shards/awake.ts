// Staying awake. In: waits for messages. Out: a worker that does not sleep during short waits, where tasks
// have priorities.

/** Together about a millisecond. During longer waits, others should get the core. */
const MOST_TASKS = 40

interface TaskScheduler {
  postTask(task: () => void, options: { readonly priority: 'background' }): Promise<void>
}

const { scheduler } = globalThis as { readonly scheduler?: Partial<TaskScheduler> }

/**
 * Waking a thread takes longer than sending a message to a running one. Only background tasks keep a thread
 * running without delaying its messages.
 */
export class Awake {
  #left = 0
  #isPosted = false

  // hot
  /** Stays awake until `rest`, or for MOST_TASKS tasks. */
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
