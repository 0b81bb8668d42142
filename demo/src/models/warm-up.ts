// Warming up. In: idle moments before the first answer. Out: parser, templates and fonts that its first words find ready.
import { render } from 'lit'
import { inParts, parseMarkdown } from '../conversation/markdown.ts'
import { renderMarkdown } from '../conversation/render-markdown.ts'
import { idle } from '../shell/tasks.ts'

/** Each is work for one idle moment: together they would hold the page up. */
const SAMPLES = [
  // The parser alone.
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

/** Writes one of everything that Markdown knows where nobody sees it, and removes it again. */
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
