// WikiText. In: the raw text of a split. Out: its pages, and pages without the marks of its
// tokenisation.

/** Each page with its title first. Source: the loader of the data set `wikitext_document_level`. */
export function pagesOf(text: string): string[] {
  const pages: string[] = []
  let lines: string[] = []
  for (const line of text.split('\n')) {
    const title = line.replaceAll('= = =', '===').replaceAll('= =', '==').trim()
    if (title.startsWith('= ') && title.endsWith(' =')) {
      const page = lines.join('\n')
      if (page.trim() !== '') pages.push(page)
      lines = []
    }
    lines.push(line)
  }
  const last = lines.join('\n')
  if (last.trim() !== '' || pages.length === 0) pages.push(last)
  return pages
}

type Rule = readonly [find: string | RegExp, put: string]

/** In this order. Source: `preprocess_wikitext.py` of lm-evaluation-harness. */
const RULES: readonly Rule[] = [
  ["s '", "s'"],
  [/\/' [0-9]\//g, "/'[0-9]/"],
  [' @-@ ', '-'],
  [' @,@ ', ','],
  [' @.@ ', '.'],
  ...[':', ';', '.', '!', '?', ','].map((mark): Rule => [` ${mark} `, `${mark} `]),
  [/\(\s*([^)]*?)\s*\)/g, '($1)'],
  [/\[\s*([^\]]*?)\s*\]/g, '[$1]'],
  [/\{\s*([^}]*?)\s*\}/g, '{$1}'],
  [/"\s*([^"]*?)\s*"/g, '"$1"'],
  [/'\s*([^']*?)\s*'/g, "'$1'"],
  ['= = = =', '===='],
  ['= = =', '==='],
  ['= =', '=='],
  [' \u00b0 ', '\u00b0'],
  [' \n', '\n'],
  ['\n ', '\n'],
  [' N ', ' 1 '],
  [" 's", "'s"],
]

export const detokenizeWikitext = (page: string): string =>
  RULES.reduce((text, [find, put]) => text.replaceAll(find, put), page)
