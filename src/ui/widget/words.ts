// Every text that the widget shows or announces, in English. A page replaces any of them through the property
// `messages`.
import { COMMON } from '../chat/texts.ts'
import { DOCUMENT_WORDS } from '../documents/words.ts'

/** Names in braces are filled in; a translation may omit or move them. */
export const ENGLISH = {
  ...COMMON,
  ...DOCUMENT_WORDS,
  heading: 'Chat',
  open: 'Open the chat',
  close: 'Close the chat',
  clear: 'New conversation',
  empty: 'Ask a question. It is answered on this device.',
  suggestions: 'Suggestions',

  model: 'Answer',
  again: 'Answer again',
  retry: 'Try again',
  stopped: 'Stopped',
  cut: 'Cut off: the answer reached its length limit',
  looped: 'Stopped: the answer repeated itself',
  answering: 'Answering',

  checking: 'Checking the size of the download',
  consentTitle: 'Download the language model?',
  consentSize: 'This chat runs on your device. Its language model is downloaded once: {size}.',
  consentUnknown:
    'This chat runs on your device. Its language model is downloaded once; the size is unknown.',
  consentTight: 'This device may not have enough memory for it.',
  accept: 'Download',
  decline: 'Not now',
  waiting: 'Waiting for the server',
  downloading: 'Downloading: {loaded} of {total}',
  downloadingUnknown: 'Downloading: {loaded}',
  retrying: 'The connection was lost. Retrying in {time} ({attempt} of {attempts})',
  reading: 'Reading the model from this device',
  preparing: 'Preparing the model',
  ready: 'Ready',

  attachDocuments: 'Attach documents',
  attachedDocuments: 'Attached documents',
  dropDocuments: 'Drop documents to attach them',
  removeName: 'Remove {name}',
  documentOpening: 'Reading {name}',
  documentsUnread: 'The model of this chat is too small to read documents.',
  searching: 'Reading the documents: {done} of {total}',
  sources: 'Sources',
  source: 'Source {number}',
  toolRunning: 'Running: {name}',
  toolDone: 'Done: {name}',
  toolFailed: 'Failed: {name}',
  toolArguments: 'Arguments',
  toolResult: 'Result',
  /** Read by the model: the message that is sent if passages of the documents were found. */
  passages:
    'Answer the question from these passages. Say so if they do not answer it.\n\n{passages}\n\nQuestion: {question}',

  offline: 'You are offline. Connect to the internet, then try again.',
  oldBrowser:
    'This browser is too old for the chat. Use a current version of Chrome, Edge, Firefox or Safari.',
  noModel: 'This chat has no model. Please tell the site’s owner.',
  notFound: 'The server does not have the model. Please tell the site’s owner.',
  'error-unsupported': 'The chat’s model or its settings cannot be used here. Please tell the site’s owner.',
  'error-worker': 'The chat could not start. Reload the page; if this happens again, tell the site’s owner.',
  'error-network': 'The model could not be downloaded. Check the connection, then try again.',
  'error-integrity': 'The download was damaged. Try again: only the damaged parts are downloaded.',
  'error-format': 'The model’s file is damaged or incomplete. Please tell the site’s owner.',
  'error-architecture': 'This model cannot be used here. Please tell the site’s owner.',
  'error-out-of-memory': 'There is not enough memory. Close other tabs, then try again.',
  'error-storage-full': 'The device’s storage is full. Free some space, then try again.',
  'error-context-overflow':
    'The message is too long for this model. Shorten it, or start a new conversation.',
  'error-disposed': 'The model was closed. Try again to reload it.',
  'error-internal': 'Something went wrong in the model. Try again to reload it.',
} as const

export type Words = { readonly [Name in keyof typeof ENGLISH]: string }

/** The English texts, overridden by the page's. */
export const wordsOf = (given: Partial<Words>): Words =>
  Object.fromEntries(
    Object.entries(ENGLISH).map(([name, text]) => [name, given[name as keyof Words] ?? text]),
  ) as Words
