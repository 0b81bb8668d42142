// Questions about the documents of test/fixtures/documents. In: a way to search. Out: for how many of them the
// passage with the answer is among the first.
import { readPdf } from '../../../../src/ui/documents/pdf/pdf-pages.ts'
import type { PdfRequest } from '../../../../src/ui/documents/pdf/pdf-text.ts'
import { readDocument, type TextDocument } from '../../../../src/ui/documents/read-file.ts'
import { DocumentSearch } from '../../../../src/ui/documents/search.ts'
import { fixtureFile, fixtureText } from '../../../helpers/fixture.ts'

interface DocumentQuestion {
  readonly document: string
  readonly question: string
  /** Words of the passage with the answer. */
  readonly answer: string
}

export const QUESTIONS: readonly DocumentQuestion[] = JSON.parse(fixtureText('documents/questions.json'))
export const DOCUMENTS = [...new Set(QUESTIONS.map(({ document }) => document))]

/** Reads PDFs in this thread. */
export const startPdf = (): Worker => {
  const worker = {
    postMessage: ({ bytes, port }: PdfRequest) => void readPdf(bytes, (reply) => port.postMessage(reply)),
    terminate: () => undefined,
  }
  return worker as unknown as Worker
}

export const readFixture = (name: string): Promise<TextDocument> =>
  readDocument(fixtureFile(`documents/${name}`), { startPdf, sizeText: (bytes) => `${bytes} bytes` })

/** The ranks of the passage with the answer, from 0, with all documents attached at once. */
export async function ranksOf(
  nearest: (search: DocumentSearch, question: string) => Promise<readonly number[]>,
): Promise<readonly number[]> {
  const documents = await Promise.all(DOCUMENTS.map(readFixture))
  const search = new DocumentSearch(documents)
  const ranks: number[] = []
  for (const { document, question, answer } of QUESTIONS) {
    const order = await nearest(search, question)
    const isAnswer = (index: number) => {
      const passage = search.passages[index]
      const isInDocument = documents[passage?.document ?? -1]?.name === document
      return isInDocument && passage?.text.replaceAll(/\s+/g, ' ').includes(answer) === true
    }
    ranks.push(order.findIndex(isAnswer))
  }
  return ranks
}

/** Share of questions whose answer is among the first `count` passages. */
export const recallAt = (ranks: readonly number[], count: number): number =>
  ranks.filter((rank) => rank >= 0 && rank < count).length / ranks.length
