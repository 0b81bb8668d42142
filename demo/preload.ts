// Preloads. In: a built page. Out: the page with a preload link for each script that its entry imports, so
// that they are requested together with the entry.
import type { Plugin } from 'vite'

/** Scripts that an entry imports at startup, including with `import()`, and their own imports. */
export const preload: Plugin = {
  name: 'preload',
  transformIndexHtml: {
    order: 'post',
    handler(_page, { bundle, chunk }) {
      if (bundle === undefined || chunk === undefined) return []
      const names = new Set<string>()
      const add = (name: string): void => {
        const found = bundle[name]
        // Firefox reports an error for a preload of the page's own script.
        if (found?.type !== 'chunk' || found === chunk || names.has(name)) return
        names.add(name)
        for (const imported of found.imports) add(imported)
      }
      for (const name of [...chunk.imports, ...chunk.dynamicImports]) add(name)
      return [...names].map((name) => ({
        tag: 'link',
        attrs: { rel: 'modulepreload', href: `./${name}` },
        injectTo: 'head' as const,
      }))
    },
  },
}
