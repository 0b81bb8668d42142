// The site. In: the pages that scripts/site/site.mjs wrote. Out: VitePress's options: navigation, search,
// links.
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { slug } from 'github-slugger'
import { type DefaultTheme, defineConfig } from 'vitepress'

const BASE = process.env.HALFBYTE_SITE_BASE ?? '/'
const PAGES = fileURLToPath(new URL('../pages', import.meta.url))

/** Lists a folder's pages by their first heading, sorted by file name. */
function pagesOf(folder: string): DefaultTheme.SidebarItem[] {
  return readdirSync(`${PAGES}/${folder}`)
    .filter((name) => name.endsWith('.md') && name !== 'index.md')
    .map((name) => {
      const [, text = name] = /^# (.*)$/m.exec(readFileSync(`${PAGES}/${folder}/${name}`, 'utf8')) ?? []
      return { text, link: `/${folder}/${name.replace('.md', '')}` }
    })
}

const SIDEBAR: DefaultTheme.SidebarItem[] = [
  { text: 'Get started', link: '/start' },
  { text: 'Examples', link: '/examples' },
  { text: 'Compared with other libraries', link: '/compared' },
  { text: 'Guide', items: pagesOf('guide') },
  { text: 'Measurements', collapsed: true, items: pagesOf('measurements') },
  { text: 'Internals', collapsed: true, items: pagesOf('internals') },
  { text: 'Project', collapsed: true, items: pagesOf('project') },
]

/** Written by TypeDoc. */
const REFERENCE: DefaultTheme.SidebarItem[] = JSON.parse(
  readFileSync(`${PAGES}/api/typedoc-sidebar.json`, 'utf8'),
)

export default defineConfig({
  title: 'Halfbyte',
  description: 'Language models inside a web page, on the CPU',
  lang: 'en',
  base: BASE,
  srcDir: 'pages',
  outDir: '../../build/site',
  head: [['link', { rel: 'icon', href: `${BASE}icon.svg` }]],
  // The pages are read on GitHub too, where links to their headings must work.
  markdown: {
    anchor: { slugify: (heading) => slug(heading) },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    config(markdown) {
      // A screen reader would announce the empty corner of a table as a header.
      markdown.core.ruler.push('corners', ({ tokens }) => {
        for (const [index, { type }] of tokens.entries()) {
          const [open, text, close] = tokens.slice(index)
          if (type !== 'th_open' || text?.content !== '' || open === undefined || close === undefined)
            continue
          open.tag = 'td'
          close.tag = 'td'
        }
      })
    },
  },
  ignoreDeadLinks: [/^\/chat\//],
  themeConfig: {
    logo: '/icon.svg',
    search: { provider: 'local' },
    nav: [
      { text: 'Guide', link: '/start' },
      { text: 'Examples', link: '/examples' },
      { text: 'API', link: '/api/' },
      { text: 'Chat', link: '/chat/index.html', target: '_self' },
    ],
    sidebar: { '/api/': [{ text: 'API reference', link: '/api/', items: REFERENCE }], '/': SIDEBAR },
    outline: [2, 3],
  },
})
