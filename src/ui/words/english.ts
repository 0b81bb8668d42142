// Every text that the widget shows or announces, in English, including those that the page shows too. A
// page replaces any of the widget's through the property `messages`.
import { DOCUMENT_WORDS } from './documents.ts'
import type { Message } from './message.ts'

/** The texts shared by the page and the widget, in English. Both add their own. */
export const COMMON = {
  conversation: 'Conversation',
  toEnd: 'Jump to the newest message',
  message: 'Message',
  placeholder: 'Write a message',
  send: 'Send',
  stop: 'Stop',
  you: 'You',
  thinking: 'Thinking …',
  thought: 'Thoughts',
  copy: 'Copy',
  copied: 'Copied',
  copyCode: 'Copy code',
  code: 'code',
  table: 'Table',
  formula: 'Formula',
  details: 'Details',
  cancel: 'Cancel',
  left: '{time} left',
} as const

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
  documentOpening: 'Reading {name}',
  documentsUnread: 'The model of this chat is too small to read documents.',
  attachPictures: 'Attach pictures',
  takePhoto: 'Take a photo',
  attached: 'Attached pictures',
  removeName: 'Remove {name}',
  dropPictures: 'Drop pictures to attach them',
  pictureBlind: 'This model cannot see pictures.',
  pictureOther: '{name} is not a picture. Only pictures can be attached.',
  pictureMany: 'A message can have up to {most} pictures, not {count}.',
  pictureLarge: '{name} has {size}. A picture can have up to {most}.',
  pictureBroken: '{name} is damaged, or this browser cannot show it.',
  pictureGone: 'Picture: {name}',
  readingPrompt: 'Reading {done} of {total} tokens',
  searching: 'Reading the documents: {done} of {total}',
  sources: 'Sources',
  source: 'Source {number}',
  toolRunning: 'Running: {name}',
  toolDone: 'Done: {name}',
  toolFailed: 'Failed: {name}',
  toolArguments: 'Arguments',
  toolCalculate: 'Calculator',
  toolDate: 'Date and time',
  toolUnits: 'Unit conversion',
  toolTime: 'Time in a place',
  toolDays: 'Days between dates',
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

/** A text whose form depends on a number has plural forms in English too. */
export type Words = {
  readonly [Name in keyof typeof ENGLISH]: (typeof ENGLISH)[Name] extends string ? string : Message
}
export type CommonWords = { readonly [Name in keyof typeof COMMON]: string }
export type WidgetWords = Omit<Words, keyof CommonWords>

/** A file of `languages/`. */
export interface Translation {
  readonly COMMON: CommonWords
  readonly WIDGET: WidgetWords
}
