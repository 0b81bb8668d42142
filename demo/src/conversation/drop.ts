// Drag and drop. In: a page. Out: the files and folders dropped on it.
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
    // The browser exposes them only during the event.
    const items = [...transfer.items].map(revealed)
    const plain = [...transfer.files]
    void import('./files/dropped-files.ts')
      .then(({ droppedFiles }) => droppedFiles(items))
      .catch(() => plain)
      .then((files) => {
        if (files.length > 0) this.#take(files)
      })
  }
}

/** What a browser exposes of one dropped item. */
export interface Dropped {
  readonly file: File | null
  readonly entry: FileSystemEntry | null
  /** Only Chromium has handles, except for folders that it considers sensitive. */
  readonly handle: Promise<FileSystemHandle | null> | undefined
}

/** The DOM typings lack Chromium-only APIs. */
interface Item extends DataTransferItem {
  getAsFileSystemHandle?(): Promise<FileSystemHandle | null>
}

const revealed = (item: Item): Dropped => ({
  file: item.getAsFile(),
  entry: item.webkitGetAsEntry?.() ?? null,
  handle: item.getAsFileSystemHandle?.().catch(() => null),
})
