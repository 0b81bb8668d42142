// Prints a reply as it arrives: as Markdown in a terminal, unchanged in pipes, files and plain terminals.
import type { Generation } from '../../../engine/api/types.ts'
import { ReplyView } from '../markdown/reply-view.ts'
import { dimmed, isPlain, replyPiece, visible } from '../terminal/failure.ts'

/** Ends without a line break. Throws what the generation throws, below what has arrived. */
export async function printReply(generation: Generation): Promise<void> {
  if (process.stdout.isTTY && !isPlain()) return printMarkdown(generation)
  for await (const chunk of generation) process.stdout.write(replyPiece(chunk))
}

async function printMarkdown(generation: Generation): Promise<void> {
  let view: ReplyView | undefined
  let thought = ''
  try {
    for await (const { text, reasoning } of generation) {
      if (reasoning !== undefined) {
        // A further thought begins below the text before it.
        if (view !== undefined) thought = endOf(view)
        view = undefined
        thought += reasoning
        process.stdout.write(dimmed(visible(reasoning)))
        continue
      }
      if (view === undefined && thought !== '') process.stdout.write(gapAfter(thought))
      view ??= new ReplyView(process.stdout)
      view.add(text)
    }
    view?.end()
  } catch (error) {
    if (view !== undefined || thought !== '') process.stdout.write('\n')
    throw error
  }
}

function endOf(view: ReplyView): string {
  view.end()
  process.stdout.write('\n\n')
  return ''
}

/** An empty line between a thought and its answer. */
const gapAfter = (thought: string): string =>
  thought.endsWith('\n\n') ? '' : thought.endsWith('\n') ? '\n' : '\n\n'
