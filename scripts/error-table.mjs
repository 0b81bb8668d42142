// Writes docs/guide/errors.md from the doc comments of ErrorCode in src/core/base/errors.ts.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
export const ERROR_PAGE = join(root, 'docs/guide/errors.md')

/** The page as Markdown, one row per code. */
export function errorPage() {
  const source = readFileSync(join(root, 'src/core/base/errors.ts'), 'utf8')
  const codes = [...source.matchAll(/\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n {2}\| '([a-z-]+)'/g)]
  const rows = codes.map(([, comment, code]) => {
    const text = comment.replaceAll(/\s*\n\s*\*/g, '').trim()
    const end = text.indexOf('. ') + 1
    return `| \`${code}\` | ${text.slice(0, end)} | ${text.slice(end + 1)} |`
  })
  return `# Errors

Everything that Halfbyte throws on purpose is a \`HalfbyteError\`. Its \`code\` is one of these, its \`message\` is a
sentence with the numbers and the next step, and its \`detail\` contains the numbers and names themselves. An abort is
not such an error: the call rejects with the signal's reason.

| code | cause | what to do |
|---|---|---|
${rows.join('\n')}

\`isHalfbyteError(value)\` and \`instanceof HalfbyteError\` recognise the errors of every entry and copy of the library, in any realm:

\`\`\`ts
try {
  await Engine.load(address)
} catch (error) {
  if (isHalfbyteError(error) && error.code === 'storage-full') await makeRoom(500e6)
  else throw error
}
\`\`\`

<!-- Written by scripts/error-table.mjs from src/core/base/errors.ts. -->
`
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) writeFileSync(ERROR_PAGE, errorPage())
