// Listening. In: an answer as the engine generates it. Out: its streaming text, and the result.
import type { Generation, GenerationResult, ToolRun } from '../../../../src/index.ts'
import { beforeLoop } from '../../../../src/ui/chat/loops.ts'
import { nextTask } from '../../shell/tasks.ts'

/** Maximum chunks of an answer taken in one task. Many can be queued at once. */
const AT_ONCE = 8

export interface Listener {
  /** Called with the whole text and the whole thought so far. */
  grow(text: string, thoughts: string): void
  /** Called when a call of a tool begins and when it ends. */
  ran(run: ToolRun): void
  /** Called with the length so far. The engine continues after the returned promise resolves. */
  room(letters: number): Promise<void> | undefined
}

/** The result of reading an answer. */
interface Heard {
  readonly result: GenerationResult
  /** Length of the text before it began to repeat itself; undefined if it did not. */
  readonly loopAt?: number
}

/** Reads an answer until it ends or repeats itself. `stop` cancels the generation. */
export async function listen(generation: Generation, stop: AbortSignal, listener: Listener): Promise<Heard> {
  const cancel = () => generation.cancel()
  if (stop.aborted) cancel()
  stop.addEventListener('abort', cancel)
  let text = ''
  let thoughts = ''
  let taken = 0
  for await (const chunk of generation) {
    text += chunk.text
    thoughts += chunk.reasoning ?? ''
    if (chunk.toolRun !== undefined) listener.ran(chunk.toolRun)
    if (++taken % AT_ONCE === 0) {
      await nextTask()
      const loopAt = beforeLoop(text)
      if (loopAt !== undefined) {
        cancel()
        listener.grow(text.slice(0, loopAt), thoughts)
        return { result: await generation.result, loopAt }
      }
    }
    listener.grow(text, thoughts)
    await listener.room(text.length)
  }
  return { result: await generation.result }
}
