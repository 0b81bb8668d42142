// Inline scripts. In: a page with <script data-inline="file">, values for names in the file. Out: the page
// with that file inlined, and its hash in the page's content security policy.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Plugin } from 'vite'

const PLACE = /<script data-inline="([\w.-]+)"><\/script>/g

/**
 * As a separate file, such a script would delay the first paint by a round trip. `folder` has the files; each
 * key of `values` in them is replaced.
 */
export function inline(folder: string, values: Readonly<Record<string, string>>): Plugin {
  return {
    name: 'inline',
    transformIndexHtml(page) {
      const hashes: string[] = []
      const filled = page.replace(PLACE, (_, file: string) => {
        // The first lines describe the file; visitors need not download them.
        const text = readFileSync(join(folder, file), 'utf8').replace(/^(\/\/.*\n)+/, '')
        const script = Object.entries(values).reduce(
          (all, [key, value]) => all.replace(key, () => value),
          text,
        )
        hashes.push(`'sha256-${createHash('sha256').update(script).digest('base64')}'`)
        return `<script>${script}</script>`
      })
      return filled.replace("script-src 'self'", ["script-src 'self'", ...hashes].join(' '))
    },
  }
}
