// Warm-up. In: idle moments before the first answer. Out: a loaded parser, templates and fonts.
import { render } from 'lit'
import { inParts, parseMarkdown } from '../../../src/ui/chat/markdown/markdown.ts'
import { renderMarkdown } from '../../../src/ui/chat/markdown/render-markdown.ts'
import { idle } from '../shell/tasks.ts'

/** One job per idle moment: together they would block the page. */
const SAMPLES = [
  // Only the parser.
  '',
  'a',
  '**a** *a* ~~a~~\\\n`a`',
  '[a](https://a.example/a)',
  '## a',
  '### a',
  '- a\n- a',
  '1. a',
  '> a',
  '---',
  '```\na\n```',
  '| a |\n|---|\n| a |',
]

/** Renders every Markdown element once, off screen, and removes it. */
export async function warmUp(): Promise<void> {
  const holder = document.createElement('div')
  holder.className = 'body visually-hidden'
  holder.inert = true
  holder.ariaHidden = 'true'
  document.body.append(holder)
  for (const sample of SAMPLES) {
    await idle()
    const blocks = parseMarkdown(sample)
    await idle()
    render(renderMarkdown(inParts(blocks)), holder)
  }
  await idle()
  holder.remove()
}
