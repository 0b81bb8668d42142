// Dropping. In: a page. Out: the files and folders that a person drops on it.
import type { ReactiveController, ReactiveControllerHost } from 'lit'

/** Gives the host the class `dropping` while files are dragged over the page. */
export class DropTarget implements ReactiveController {
  readonly #host: ReactiveControllerHost & HTMLElement
  readonly #take: (files: readonly File[]) => void

  constructor(host: ReactiveControllerHost & HTMLElement, take: (files: readonly File[]) => void) {
    this.#host = host
    this.#take = take
    host.addController(this)
  }

  hostConnected(): void {
    window.addEventListener('dragover', this.#onOver)
    window.addEventListener('dragleave', this.#onLeave)
    window.addEventListener('drop', this.#onDrop)
  }

  hostDisconnected(): void {
    window.removeEventListener('dragover', this.#onOver)
    window.removeEventListener('dragleave', this.#onLeave)
    window.removeEventListener('drop', this.#onDrop)
  }

  readonly #onOver = (event: DragEvent): void => {
    if (event.dataTransfer?.types.includes('Files') !== true) return
    event.preventDefault()
    this.#host.classList.add('dropping')
  }

  readonly #onLeave = (event: DragEvent): void => {
    if (event.relatedTarget === null) this.#host.classList.remove('dropping')
  }

  readonly #onDrop = (event: DragEvent): void => {
    this.#host.classList.remove('dropping')
    const transfer = event.dataTransfer
    if (transfer?.types.includes('Files') !== true) return
    event.preventDefault()
    void droppedFiles(transfer).then((files) => {
      if (files.length > 0) this.#take(files)
    })
  }
}

/** Files, and the files directly in folders. The browser reveals them only before the first await. */
async function droppedFiles({ items, files }: DataTransfer): Promise<readonly File[]> {
  const entries = [...items].map((item) => item.webkitGetAsEntry?.() ?? null)
  const folders = entries.filter((entry) => entry?.isDirectory === true) as FileSystemDirectoryEntry[]
  // A folder is also listed as a file, one that cannot be read.
  const plain = [...files].filter(({ name }) => !folders.some((folder) => folder.name === name))
  const inside = await Promise.all(folders.map(filesOf))
  return [...plain, ...inside.flat()]
}

async function filesOf(folder: FileSystemDirectoryEntry): Promise<File[]> {
  const reader = folder.createReader()
  const entries: FileSystemEntry[] = []
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    )
    if (some.length === 0) break
    entries.push(...some)
  }
  const files = entries.filter((entry) => entry.isFile) as FileSystemFileEntry[]
  return Promise.all(
    files.map((entry) => new Promise<File>((resolve, reject) => entry.file(resolve, reject))),
  )
}
