// The texts of `english.ts` in Dutch.
import type { DocumentWords } from '../documents.ts'
import type { CommonWords, WidgetWords } from '../english.ts'

export const COMMON: CommonWords = {
  conversation: 'Gesprek',
  toEnd: 'Naar het nieuwste bericht',
  message: 'Bericht',
  placeholder: 'Schrijf een bericht',
  send: 'Verzenden',
  stop: 'Stoppen',
  you: 'Jij',
  thinking: 'Denkt na …',
  thought: 'Gedachten',
  copy: 'Kopiëren',
  copied: 'Gekopieerd',
  copyCode: 'Code kopiëren',
  code: 'code',
  table: 'Tabel',
  formula: 'Formule',
  details: 'Details',
  cancel: 'Annuleren',
  left: 'nog {time}',
}

/** The texts of `documents.ts`. */
export const DOCUMENTS: DocumentWords = {
  'document-kind':
    'Deze pagina leest geen bestanden als {name}. Voeg tekst, een webpagina, een pdf of een afbeelding toe.',
  'document-large': '{name} is {size}; een bestand mag hoogstens {most} zijn. Voeg een deel ervan toe.',
  'document-long': '{name} is te lang om hier te lezen. Voeg een deel ervan toe.',
  'document-locked':
    '{name} is beveiligd met een wachtwoord. Sla een kopie zonder wachtwoord op en voeg die toe.',
  'document-scanned':
    '{name} heeft geen tekst: de pagina’s zijn afbeeldingen. Voeg de afbeeldingen toe, of een pdf met tekst.',
  'document-empty': '{name} bevat geen tekst. Voeg een ander bestand toe.',
  'document-damaged':
    '{name} is beschadigd. Open het in het eigen programma, sla het opnieuw op en voeg die kopie toe.',
  'document-part':
    'Het deel dat {name} leest, is niet geladen. Controleer de verbinding en voeg het opnieuw toe.',
  documentsMany:
    'Een bericht kan hoogstens {most} bestanden hebben, en dit zouden er {count} zijn. Voeg er minder toe.',
  documentReading: '{name} wordt gelezen: pagina {done} van {all}',
  documentsSmall:
    'Dit model is te klein om bestanden te lezen: het zou iets verzinnen. Kies een groter model.',
  placePage: 'pagina {page}',
  placeLines: 'regels {from}–{to}',
  placeLine: 'regel {line}',
  placeRows: 'rijen {from}–{to}',
  placeRow: 'rij {row}',
}

export const WIDGET: WidgetWords = {
  ...DOCUMENTS,
  attachDocuments: 'Documenten toevoegen',
  attachedDocuments: 'Toegevoegde documenten',
  dropDocuments: 'Sleep documenten hierheen om ze toe te voegen',
  documentOpening: '{name} wordt gelezen',
  documentsUnread: 'Het model van deze chat is te klein om documenten te lezen.',
  heading: 'Chat',
  open: 'Chat openen',
  close: 'Chat sluiten',
  clear: 'Nieuw gesprek',
  empty: 'Stel een vraag. Die wordt op dit apparaat beantwoord.',
  suggestions: 'Suggesties',
  model: 'Antwoord',
  again: 'Opnieuw antwoorden',
  retry: 'Opnieuw proberen',
  stopped: 'Gestopt',
  cut: 'Afgebroken: het antwoord bereikte de maximale lengte',
  looped: 'Gestopt: het antwoord herhaalde zichzelf',
  answering: 'Bezig met antwoorden',
  checking: 'Grootte van de download controleren',
  consentTitle: 'Taalmodel downloaden?',
  consentSize: 'Deze chat werkt op je apparaat. Het taalmodel wordt één keer gedownload: {size}.',
  consentUnknown:
    'Deze chat werkt op je apparaat. Het taalmodel wordt één keer gedownload; de grootte is onbekend.',
  consentTight: 'Dit apparaat heeft er misschien niet genoeg geheugen voor.',
  accept: 'Downloaden',
  decline: 'Niet nu',
  waiting: 'Wachten op de server',
  downloading: 'Downloaden: {loaded} van {total}',
  downloadingUnknown: 'Downloaden: {loaded}',
  retrying: 'De verbinding is verbroken. Nieuwe poging over {time} ({attempt} van {attempts})',
  reading: 'Model van dit apparaat lezen',
  preparing: 'Model voorbereiden',
  ready: 'Klaar',
  attachPictures: 'Afbeeldingen toevoegen',
  takePhoto: 'Foto maken',
  attached: 'Toegevoegde afbeeldingen',
  removeName: '{name} verwijderen',
  dropPictures: 'Sleep afbeeldingen hierheen om ze toe te voegen',
  pictureBlind: 'Dit model kan geen afbeeldingen zien.',
  pictureOther: '{name} is geen afbeelding. Alleen afbeeldingen kunnen worden toegevoegd.',
  pictureMany: 'Een bericht kan tot {most} afbeeldingen hebben, niet {count}.',
  pictureLarge: '{name} is {size}. Een afbeelding mag tot {most} zijn.',
  pictureBroken: '{name} is beschadigd, of deze browser kan haar niet tonen.',
  pictureGone: 'Afbeelding: {name}',
  readingPrompt: 'Tokens lezen: {done} van {total}',
  searching: 'Documenten lezen: {done} van {total}',
  sources: 'Bronnen',
  source: 'Bron {number}',
  toolRunning: 'Bezig: {name}',
  toolDone: 'Klaar: {name}',
  toolFailed: 'Mislukt: {name}',
  toolArguments: 'Argumenten',
  toolCalculate: 'Rekenmachine',
  toolDate: 'Datum en tijd',
  toolUnits: 'Eenheden omrekenen',
  toolTime: 'Tijd op een plaats',
  toolDays: 'Dagen tussen datums',
  toolResult: 'Resultaat',
  passages:
    'Beantwoord de vraag met deze passages. Zeg het als ze de vraag niet beantwoorden.\n\n{passages}\n\nVraag: {question}',
  offline: 'Je bent offline. Maak verbinding met internet en probeer het opnieuw.',
  oldBrowser:
    'Deze browser is te oud voor de chat. Gebruik een recente versie van Chrome, Edge, Firefox of Safari.',
  noModel: 'Deze chat heeft geen model. Meld dit aan de eigenaar van de site.',
  notFound: 'De server heeft het model niet. Meld dit aan de eigenaar van de site.',
  'error-unsupported':
    'Het model van de chat of de instellingen zijn hier niet bruikbaar. Meld dit aan de eigenaar van de site.',
  'error-worker':
    'De chat kon niet starten. Laad de pagina opnieuw; meld het aan de eigenaar van de site als het weer gebeurt.',
  'error-network': 'Het model kon niet worden gedownload. Controleer de verbinding en probeer het opnieuw.',
  'error-integrity':
    'De download was beschadigd. Probeer het opnieuw: alleen de beschadigde delen worden gedownload.',
  'error-format':
    'Het bestand van het model is beschadigd of onvolledig. Meld dit aan de eigenaar van de site.',
  'error-architecture': 'Dit model is hier niet bruikbaar. Meld dit aan de eigenaar van de site.',
  'error-out-of-memory': 'Er is niet genoeg geheugen. Sluit andere tabbladen en probeer het opnieuw.',
  'error-storage-full': 'De opslag van het apparaat is vol. Maak ruimte vrij en probeer het opnieuw.',
  'error-context-overflow': 'Het bericht is te lang voor dit model. Kort het in of begin een nieuw gesprek.',
  'error-disposed': 'Het model is gesloten. Probeer het opnieuw om het te laden.',
  'error-internal': 'Er ging iets mis in het model. Probeer het opnieuw om het te laden.',
}
