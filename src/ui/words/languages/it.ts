// The texts of `english.ts` in Italian.
import type { DocumentWords } from '../documents.ts'
import type { CommonWords, WidgetWords } from '../english.ts'

export const COMMON: CommonWords = {
  conversation: 'Conversazione',
  toEnd: 'Vai al messaggio più recente',
  message: 'Messaggio',
  placeholder: 'Scrivi un messaggio',
  send: 'Invia',
  stop: 'Interrompi',
  you: 'Tu',
  thinking: 'Sto pensando …',
  thought: 'Ragionamento',
  copy: 'Copia',
  copied: 'Copiato',
  copyCode: 'Copia codice',
  code: 'codice',
  table: 'Tabella',
  formula: 'Formula',
  details: 'Dettagli',
  cancel: 'Annulla',
  left: '{time} rimanenti',
}

/** The texts of `documents.ts`. */
export const DOCUMENTS: DocumentWords = {
  'document-kind':
    'Questa pagina non legge file come {name}. Allega testo, una pagina web, un PDF o un’immagine.',
  'document-large': '{name} è di {size}; un file può essere al massimo di {most}. Allegane una parte.',
  'document-long': '{name} è troppo lungo per essere letto qui. Allegane una parte.',
  'document-locked': '{name} è protetto da password. Salvane una copia senza password e allegala.',
  'document-scanned':
    '{name} non contiene testo: le sue pagine sono immagini. Allega le immagini, o un PDF con testo.',
  'document-empty': '{name} non contiene testo. Allega un altro file.',
  'document-damaged':
    '{name} è danneggiato. Aprilo nel suo programma, salvalo di nuovo e allega quella copia.',
  'document-part':
    'La parte che legge {name} non si è caricata. Controlla la connessione e allegalo di nuovo.',
  documentsMany: 'Un messaggio può avere al massimo {most} file, e così sarebbero {count}. Allegane meno.',
  documentReading: 'Lettura di {name}: pagina {done} di {all}',
  documentsSmall: 'Questo modello è troppo piccolo per leggere file: inventerebbe. Scegline uno più grande.',
  placePage: 'pagina {page}',
  placeLines: 'righe {from}–{to}',
  placeLine: 'riga {line}',
  placeRows: 'righe di tabella {from}–{to}',
  placeRow: 'riga di tabella {row}',
}

export const WIDGET: WidgetWords = {
  ...DOCUMENTS,
  attachDocuments: 'Allega documenti',
  attachedDocuments: 'Documenti allegati',
  dropDocuments: 'Rilascia i documenti per allegarli',
  documentOpening: 'Lettura di {name}',
  documentsUnread: 'Il modello di questa chat è troppo piccolo per leggere documenti.',
  heading: 'Chat',
  open: 'Apri la chat',
  close: 'Chiudi la chat',
  clear: 'Nuova conversazione',
  empty: 'Fai una domanda. La risposta viene scritta su questo dispositivo.',
  suggestions: 'Suggerimenti',
  model: 'Risposta',
  again: 'Rispondi di nuovo',
  retry: 'Riprova',
  stopped: 'Interrotta',
  cut: 'Troncata: la risposta ha raggiunto la lunghezza massima',
  looped: 'Interrotta: la risposta si ripeteva',
  answering: 'Risposta in corso',
  checking: 'Verifica della dimensione del download',
  consentTitle: 'Scaricare il modello linguistico?',
  consentSize:
    'Questa chat funziona sul tuo dispositivo. Il suo modello linguistico si scarica una volta sola: {size}.',
  consentUnknown:
    'Questa chat funziona sul tuo dispositivo. Il suo modello linguistico si scarica una volta sola; la dimensione non è nota.',
  consentTight: 'Questo dispositivo potrebbe non avere memoria sufficiente.',
  accept: 'Scarica',
  decline: 'Non ora',
  waiting: 'In attesa del server',
  downloading: 'Download: {loaded} di {total}',
  downloadingUnknown: 'Download: {loaded}',
  retrying: 'La connessione si è interrotta. Nuovo tentativo tra {time} ({attempt} di {attempts})',
  reading: 'Lettura del modello da questo dispositivo',
  preparing: 'Preparazione del modello',
  ready: 'Pronto',
  searching: 'Lettura dei documenti: {done} di {total}',
  sources: 'Fonti',
  source: 'Fonte {number}',
  toolRunning: 'In corso: {name}',
  toolDone: 'Fatto: {name}',
  toolFailed: 'Non riuscito: {name}',
  toolArguments: 'Argomenti',
  toolResult: 'Risultato',
  passages:
    'Rispondi alla domanda in base a questi passaggi. Se non contengono la risposta, dillo.\n\n{passages}\n\nDomanda: {question}',
  offline: 'Sei offline. Connettiti a Internet e riprova.',
  oldBrowser:
    'Questo browser è troppo vecchio per la chat. Usa una versione attuale di Chrome, Edge, Firefox o Safari.',
  noModel: 'Questa chat non ha un modello. Avvisa il proprietario del sito.',
  notFound: 'Il server non ha il modello. Avvisa il proprietario del sito.',
  'error-unsupported':
    'Il modello della chat o le sue impostazioni non si possono usare qui. Avvisa il proprietario del sito.',
  'error-worker':
    'La chat non si è avviata. Ricarica la pagina; se succede di nuovo, avvisa il proprietario del sito.',
  'error-network': 'Impossibile scaricare il modello. Controlla la connessione e riprova.',
  'error-integrity': 'Il download era danneggiato. Riprova: si scaricano solo le parti danneggiate.',
  'error-format': 'Il file del modello è danneggiato o incompleto. Avvisa il proprietario del sito.',
  'error-architecture': 'Questo modello non si può usare qui. Avvisa il proprietario del sito.',
  'error-out-of-memory': 'La memoria non basta. Chiudi altre schede e riprova.',
  'error-storage-full': 'Lo spazio di archiviazione del dispositivo è pieno. Libera spazio e riprova.',
  'error-context-overflow':
    'Il messaggio è troppo lungo per questo modello. Accorcialo o inizia una nuova conversazione.',
  'error-disposed': 'Il modello è stato chiuso. Riprova per ricaricarlo.',
  'error-internal': 'Qualcosa è andato storto nel modello. Riprova per ricaricarlo.',
}
