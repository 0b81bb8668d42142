// The entry `halfbyte/testing`: an engine for testing apps that answers with replies from the test.
import { HalfbyteError } from '../../../core/base/errors.ts'
import type { ModelInfo } from '../../types/model.ts'
import { localConnection } from '../../wire/connection.ts'
import { Engine } from '../engine.ts'
import type { FakeAnswer, FakeReply, FakeRequest } from './fake-reply.ts'
import { type Answer, FakeService } from './fake-service.ts'

export type { FakeAnswer, FakeReply, FakeRequest }

/** Options of `fakeEngine`. */
export interface FakeOptions {
  /** The values of `engine.model`. Default: a model named `fake` with a context of 4,096 words. */
  readonly model?: Partial<ModelInfo> | undefined
}

const MODEL: ModelInfo = {
  id: 'fake',
  architecture: 'fake',
  parameters: 0,
  contextLength: 4096,
  sampling: {},
  templateArguments: [],
  readsTools: false,
  seesImages: false,
}

/**
 * An engine without a model, for testing apps. `replies` is a list used in order, or a function that is
 * called with each request. Sessions, streams, options, aborts and errors are the library's own; only the
 * model is missing, so nothing is downloaded and no worker starts. Tokens are words. Constraints are checked
 * but not applied.
 *
 * ```ts
 * const engine = await fakeEngine(['Hello there.', new HalfbyteError('network', 'offline')])
 * vi.spyOn(Engine, 'load').mockResolvedValue(engine)
 * ```
 *
 * When the list is used up, requests reject with `unsupported`. Dispose the engine when the test ends,
 * because its ports keep Node alive.
 */
export async function fakeEngine(
  replies: readonly FakeReply[] | ((request: FakeRequest) => FakeReply | Promise<FakeReply>),
  options: FakeOptions = {},
): Promise<Engine> {
  needChannels()
  const service = new FakeService({ ...MODEL, ...options.model }, answersOf(replies))
  return Engine.open(localConnection(service), 'fake')
}

function answersOf(replies: readonly FakeReply[] | Answer): Answer {
  if (typeof replies === 'function') return replies
  if (!Array.isArray(replies))
    throw new HalfbyteError(
      'unsupported',
      'a fake engine needs a list of replies or a function that returns them',
    )
  const given: readonly FakeReply[] = replies
  let asked = 0
  return ({ prompt }) => {
    const reply = given[asked++]
    if (reply !== undefined) return reply
    throw new HalfbyteError(
      'unsupported',
      `the fake engine has ${given.length} replies but was asked for number ${asked} ("${prompt.slice(0, 80)}"); give ` +
        'more, or a function',
      { replies: given.length, asked },
    )
  }
}

/** Node's globals, if a test runs there. */
interface NodeProcess {
  getBuiltinModule?(name: string): object | undefined
}

/** Jest's DOM environments hide Node's globals. */
function needChannels(): void {
  if (globalThis.MessageChannel !== undefined) return
  const { process } = globalThis as { readonly process?: NodeProcess }
  const threads = process?.getBuiltinModule?.('worker_threads') as typeof globalThis | undefined
  if (threads === undefined)
    throw new HalfbyteError('unsupported', 'a fake engine needs MessageChannel, which this environment lacks')
  const { MessageChannel, MessagePort } = threads
  Object.assign(globalThis, { MessageChannel, MessagePort })
}
