// Runs llama.cpp, the reference for real models, in its own process: the addon of node-llama-cpp, or the
// Python package llama-cpp-python.
import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { llamaCppAddon } from '../../../test/conformance/testing/llama-cpp.ts'

export interface Candidate {
  readonly id: number
  readonly logProbability: number
}
export type Order =
  | {
      readonly type: 'load'
      readonly modelPath: string
      readonly addonPath?: string | undefined
      readonly threads: number
      readonly context: number
    }
  | { readonly type: 'greedy'; readonly prompt: readonly number[]; readonly count: number }
  /** Scores the tokens after `from`; `targets` are the expected tokens at the window's positions. */
  | {
      readonly type: 'window'
      readonly tokens: readonly number[]
      readonly targets: readonly number[]
      readonly from: number
    }
  /** Supported by the Python package only: the file's template, rendered by jinja2, and a greedy reply. */
  | {
      readonly type: 'chat'
      readonly messages: readonly object[]
      readonly tools?: readonly object[] | undefined
      /** The messages for a template without tool support. */
      readonly told?: readonly object[] | undefined
      readonly stop?: readonly string[] | undefined
      readonly count: number
    }
  /**
   * Supported by the Python package only: log-probabilities of all ids at the positions from `from` on, as
   * f32 [position][id] in the file `path`.
   */
  | {
      readonly type: 'rows'
      readonly tokens: readonly number[]
      readonly from: number
      readonly path: string
    }
  /** Supported by the Python package only. */
  | { readonly type: 'tokenize'; readonly text: string; readonly bos: boolean; readonly special: boolean }
export interface Answer {
  readonly failure?: string
  /** The most likely tokens at each greedy token's position. */
  readonly greedy?: readonly (readonly Candidate[])[]
  readonly logProbabilities?: readonly number[]
  readonly ids?: readonly number[]
  readonly text?: string
  readonly finishReason?: string
  /** Without the end-of-turn token. */
  readonly tokens?: readonly number[]
}

export interface Reference {
  ask(order: Order): Promise<Answer>
  close(): void
}

const failed = (answer: Answer): Answer => {
  if (answer.failure !== undefined) throw new Error(`llama.cpp: ${answer.failure}`)
  return answer
}

/** `python`: a Python with llama-cpp-python. Without it, the addon is used. */
export async function openReference(
  python: string | undefined,
  load: Omit<Extract<Order, { type: 'load' }>, 'type' | 'addonPath'>,
): Promise<Reference> {
  const reference = python === undefined ? byAddon() : byPython(python)
  await reference.ask({ type: 'load', ...load, addonPath: llamaCppAddon() })
  return reference
}

function byAddon(): Reference {
  if (llamaCppAddon() === undefined) throw new Error('@node-llama-cpp/linux-x64 is not installed')
  const child = fork(join(import.meta.dirname, 'llama-cpp.child.ts'))
  return {
    async ask(order) {
      child.send(order)
      const [answer] = await once(child, 'message')
      return failed(answer as Answer)
    },
    close: () => void child.kill(),
  }
}

function byPython(python: string): Reference {
  const child = spawn(python, [join(import.meta.dirname, 'llama-cpp.py')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    async ask(order) {
      child.stdin.write(`${JSON.stringify(order)}\n`)
      const { value, done } = await lines.next()
      if (done) throw new Error(`llama.cpp: ${python} ended`)
      return failed(JSON.parse(value) as Answer)
    },
    close: () => void child.kill(),
  }
}
