// The models shipped with the program, by the names that commands accept.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { HalfbyteError } from '../../../core/base/errors.ts'

export interface EmbeddedModel {
  /** Names accepted in place of a path. */
  readonly id: string
  /** File in the folder of embedded models. */
  readonly file: string
  /** One sentence that helps a user choose. */
  readonly about: string
}

/** The chat page's own model first. The npm package contains only this one, to stay small. */
const MODELS: readonly EmbeddedModel[] = [
  {
    id: 'embedded',
    file: 'halfbyte-stories.hbm',
    about: "A small Llama that tells stories, makes small talk and uses tools. It doesn't know facts.",
  },
  {
    id: 'embedded-mamba',
    file: 'halfbyte-mamba.hbm',
    about: 'Halfbyte Stories without attention: long conversations take no more memory than short ones.',
  },
]

/** Its folder in a clone of the repository, and in the package. */
const FOLDERS = ['../../../../demo/models/', './models/']

const pathOf = (file: string): string | undefined =>
  FOLDERS.map((folder) => fileURLToPath(new URL(folder + file, import.meta.url))).find((path) =>
    existsSync(path),
  )

/** The embedded models whose files are present. */
export const EMBEDDED: readonly EmbeddedModel[] = MODELS.filter(
  ({ file }, index) => index === 0 || pathOf(file) !== undefined,
)

export const embeddedModel = (id: string): EmbeddedModel | undefined =>
  MODELS.find((model) => model.id === id)

/** Throws `format` if the file is missing. */
export function embeddedPath({ id, file }: EmbeddedModel): string {
  const path = pathOf(file)
  if (path !== undefined) return path
  throw new HalfbyteError(
    'format',
    id === MODELS[0]?.id
      ? `the embedded model ${file} is missing from this installation; install the package again`
      : `the npm package does not contain ${file}; clone Halfbyte's repository and give the path of its demo/models/${file}`,
  )
}

/** For help and messages: `"a", "b" or "c"`. */
export const EMBEDDED_NAMES = new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(
  EMBEDDED.map(({ id }) => `"${id}"`),
)
