// The texts of `english.ts` in German.
import type { DocumentWords } from '../documents.ts'
import type { CommonWords, WidgetWords } from '../english.ts'

export const COMMON: CommonWords = {
  conversation: 'Unterhaltung',
  toEnd: 'Zur neuesten Nachricht springen',
  message: 'Nachricht',
  placeholder: 'Nachricht schreiben',
  send: 'Senden',
  stop: 'Anhalten',
  you: 'Du',
  thinking: 'Denkt nach …',
  thought: 'Gedanken',
  copy: 'Kopieren',
  copied: 'Kopiert',
  copyCode: 'Code kopieren',
  code: 'Code',
  table: 'Tabelle',
  formula: 'Formel',
  details: 'Details',
  cancel: 'Abbrechen',
  left: 'noch {time}',
}

/** The texts of `documents.ts`. */
export const DOCUMENTS: DocumentWords = {
  'document-kind':
    'Die Art von {name} kann diese Seite nicht lesen. Hänge Text, eine Webseite, ein PDF oder ein Bild an.',
  'document-large': '{name} hat {size}; eine Datei darf höchstens {most} haben. Hänge einen Teil davon an.',
  'document-long': '{name} ist zu lang, um hier gelesen zu werden. Hänge einen Teil davon an.',
  'document-locked':
    '{name} ist durch ein Passwort gesperrt. Speichere eine Kopie ohne Passwort und hänge sie an.',
  'document-scanned':
    '{name} hat keinen Text: Die Seiten sind Bilder. Hänge die Bilder an oder ein PDF mit Text.',
  'document-empty': '{name} enthält keinen Text. Hänge eine andere Datei an.',
  'document-damaged':
    '{name} ist beschädigt. Öffne die Datei in ihrem Programm, speichere sie neu und hänge diese Kopie an.',
  'document-part':
    'Der Teil, der {name} liest, wurde nicht geladen. Prüfe die Verbindung und hänge die Datei noch einmal an.',
  documentsMany:
    'Eine Nachricht kann höchstens {most} Dateien haben, und dies wären {count}. Hänge weniger an.',
  documentReading: '{name} wird gelesen: Seite {done} von {all}',
  documentsSmall:
    'Dieses Modell ist zu klein, um Dateien zu lesen: Es würde etwas erfinden. Wähle ein größeres.',
  placePage: 'Seite {page}',
  placeLines: 'Zeilen {from}–{to}',
  placeLine: 'Zeile {line}',
  placeRows: 'Tabellenzeilen {from}–{to}',
  placeRow: 'Tabellenzeile {row}',
}

export const WIDGET: WidgetWords = {
  ...DOCUMENTS,
  attachDocuments: 'Dokumente anhängen',
  attachedDocuments: 'Angehängte Dokumente',
  dropDocuments: 'Dokumente hier ablegen, um sie anzuhängen',
  documentOpening: '{name} wird gelesen',
  documentsUnread: 'Das Modell dieses Chats ist zu klein, um Dokumente zu lesen.',
  heading: 'Chat',
  open: 'Chat öffnen',
  close: 'Chat schließen',
  clear: 'Neue Unterhaltung',
  empty: 'Stelle eine Frage. Sie wird auf diesem Gerät beantwortet.',
  suggestions: 'Vorschläge',
  model: 'Antwort',
  again: 'Neu antworten',
  retry: 'Erneut versuchen',
  stopped: 'Angehalten',
  cut: 'Abgeschnitten: Die Antwort hat die maximale Länge erreicht',
  looped: 'Angehalten: Die Antwort hat sich wiederholt',
  answering: 'Antwort wird geschrieben',
  checking: 'Größe des Downloads wird geprüft',
  consentTitle: 'Sprachmodell herunterladen?',
  consentSize: 'Dieser Chat läuft auf deinem Gerät. Sein Sprachmodell wird einmal heruntergeladen: {size}.',
  consentUnknown:
    'Dieser Chat läuft auf deinem Gerät. Sein Sprachmodell wird einmal heruntergeladen; die Größe ist unbekannt.',
  consentTight: 'Dieses Gerät hat dafür vielleicht nicht genug Speicher.',
  accept: 'Herunterladen',
  decline: 'Nicht jetzt',
  waiting: 'Warten auf den Server',
  downloading: 'Wird heruntergeladen: {loaded} von {total}',
  downloadingUnknown: 'Wird heruntergeladen: {loaded}',
  retrying: 'Die Verbindung wurde unterbrochen. Neuer Versuch in {time} ({attempt} von {attempts})',
  reading: 'Modell wird von diesem Gerät gelesen',
  preparing: 'Modell wird vorbereitet',
  ready: 'Bereit',
  attachPictures: 'Bilder anhängen',
  takePhoto: 'Foto aufnehmen',
  attached: 'Angehängte Bilder',
  removeName: '{name} entfernen',
  dropPictures: 'Bilder hier ablegen, um sie anzuhängen',
  pictureBlind: 'Dieses Modell kann keine Bilder sehen.',
  pictureOther: '{name} ist kein Bild. Nur Bilder können angehängt werden.',
  pictureMany: 'Eine Nachricht kann bis zu {most} Bilder haben, nicht {count}.',
  pictureLarge: '{name} hat {size}. Ein Bild darf bis zu {most} haben.',
  pictureBroken: '{name} ist beschädigt, oder dieser Browser kann es nicht anzeigen.',
  pictureGone: 'Bild: {name}',
  readingPrompt: 'Token werden gelesen: {done} von {total}',
  searching: 'Dokumente werden gelesen: {done} von {total}',
  sources: 'Quellen',
  source: 'Quelle {number}',
  toolRunning: 'Läuft: {name}',
  toolDone: 'Fertig: {name}',
  toolFailed: 'Fehlgeschlagen: {name}',
  toolArguments: 'Argumente',
  toolCalculate: 'Rechner',
  toolDate: 'Datum und Uhrzeit',
  toolUnits: 'Einheiten umrechnen',
  toolTime: 'Uhrzeit an einem Ort',
  toolDays: 'Tage zwischen Daten',
  toolResult: 'Ergebnis',
  passages:
    'Beantworte die Frage anhand dieser Abschnitte. Wenn sie keine Antwort geben, sage es.\n\n{passages}\n\nFrage: {question}',
  offline: 'Du bist offline. Stelle eine Internetverbindung her und versuche es erneut.',
  oldBrowser:
    'Dieser Browser ist zu alt für den Chat. Verwende eine aktuelle Version von Chrome, Edge, Firefox oder Safari.',
  noModel: 'Dieser Chat hat kein Modell. Bitte informiere den Betreiber der Website.',
  notFound: 'Der Server hat das Modell nicht. Bitte informiere den Betreiber der Website.',
  'error-unsupported':
    'Das Modell des Chats oder seine Einstellungen sind hier nicht verwendbar. Bitte informiere den Betreiber der Website.',
  'error-worker':
    'Der Chat konnte nicht starten. Lade die Seite neu; wenn es wieder passiert, informiere den Betreiber der Website.',
  'error-network':
    'Das Modell konnte nicht heruntergeladen werden. Prüfe die Verbindung und versuche es erneut.',
  'error-integrity':
    'Der Download war beschädigt. Versuche es erneut: Nur die beschädigten Teile werden neu geladen.',
  'error-format':
    'Die Datei des Modells ist beschädigt oder unvollständig. Bitte informiere den Betreiber der Website.',
  'error-architecture':
    'Dieses Modell ist hier nicht verwendbar. Bitte informiere den Betreiber der Website.',
  'error-out-of-memory': 'Der Arbeitsspeicher reicht nicht aus. Schließe andere Tabs und versuche es erneut.',
  'error-storage-full': 'Der Speicher des Geräts ist voll. Gib Platz frei und versuche es erneut.',
  'error-context-overflow':
    'Die Nachricht ist zu lang für dieses Modell. Kürze sie oder beginne eine neue Unterhaltung.',
  'error-disposed': 'Das Modell wurde geschlossen. Versuche es erneut, um es neu zu laden.',
  'error-internal': 'Im Modell ist ein Fehler aufgetreten. Versuche es erneut, um es neu zu laden.',
}
