// The texts of `english.ts` in French.
import type { DocumentWords } from '../documents.ts'
import type { CommonWords, WidgetWords } from '../english.ts'

export const COMMON: CommonWords = {
  conversation: 'Conversation',
  toEnd: 'Aller au dernier message',
  message: 'Message',
  placeholder: 'Écrivez un message',
  send: 'Envoyer',
  stop: 'Arrêter',
  you: 'Vous',
  thinking: 'Réflexion …',
  thought: 'Réflexions',
  copy: 'Copier',
  copied: 'Copié',
  copyCode: 'Copier le code',
  code: 'code',
  table: 'Tableau',
  formula: 'Formule',
  details: 'Détails',
  cancel: 'Annuler',
  left: 'encore {time}',
}

/** The texts of `documents.ts`. */
export const DOCUMENTS: DocumentWords = {
  'document-kind':
    'Cette page ne lit pas les fichiers comme {name}. Joignez du texte, une page web, un PDF ou une image.',
  'document-large': '{name} fait {size} ; un fichier peut faire {most} au plus. Joignez-en une partie.',
  'document-long': '{name} est trop long pour être lu ici. Joignez-en une partie.',
  'document-locked':
    '{name} est protégé par un mot de passe. Enregistrez une copie sans mot de passe et joignez-la.',
  'document-scanned':
    '{name} n’a pas de texte : ses pages sont des images. Joignez les images, ou un PDF avec du texte.',
  'document-empty': '{name} ne contient pas de texte. Joignez un autre fichier.',
  'document-damaged':
    '{name} est endommagé. Ouvrez-le dans son programme, enregistrez-le à nouveau et joignez cette copie.',
  'document-part':
    'La partie qui lit {name} ne s’est pas chargée. Vérifiez la connexion, puis joignez-le à nouveau.',
  documentsMany:
    'Un message peut avoir {most} fichiers au plus, et il y en aurait {count}. Joignez-en moins.',
  documentReading: 'Lecture de {name} : page {done} sur {all}',
  documentsSmall:
    'Ce modèle est trop petit pour lire des fichiers : il inventerait. Choisissez-en un plus grand.',
  placePage: 'page {page}',
  placeLines: 'lignes {from}–{to}',
  placeLine: 'ligne {line}',
  placeRows: 'rangées {from}–{to}',
  placeRow: 'rangée {row}',
}

export const WIDGET: WidgetWords = {
  ...DOCUMENTS,
  attachDocuments: 'Joindre des documents',
  attachedDocuments: 'Documents joints',
  dropDocuments: 'Déposez des documents pour les joindre',
  documentOpening: 'Lecture de {name}',
  documentsUnread: 'Le modèle de ce chat est trop petit pour lire des documents.',
  heading: 'Chat',
  open: 'Ouvrir le chat',
  close: 'Fermer le chat',
  clear: 'Nouvelle conversation',
  empty: 'Posez une question. La réponse est écrite sur cet appareil.',
  suggestions: 'Suggestions',
  model: 'Réponse',
  again: 'Répondre à nouveau',
  retry: 'Réessayer',
  stopped: 'Arrêtée',
  cut: 'Coupée : la réponse a atteint sa longueur maximale',
  looped: 'Arrêtée : la réponse se répétait',
  answering: 'Réponse en cours',
  checking: 'Vérification de la taille du téléchargement',
  consentTitle: 'Télécharger le modèle de langage ?',
  consentSize:
    'Ce chat fonctionne sur votre appareil. Son modèle de langage est téléchargé une seule fois : {size}.',
  consentUnknown:
    'Ce chat fonctionne sur votre appareil. Son modèle de langage est téléchargé une seule fois ; la taille est inconnue.',
  consentTight: 'Cet appareil n’a peut-être pas assez de mémoire.',
  accept: 'Télécharger',
  decline: 'Pas maintenant',
  waiting: 'En attente du serveur',
  downloading: 'Téléchargement : {loaded} sur {total}',
  downloadingUnknown: 'Téléchargement : {loaded}',
  retrying: 'La connexion a été perdue. Nouvel essai dans {time} ({attempt} sur {attempts})',
  reading: 'Lecture du modèle depuis cet appareil',
  preparing: 'Préparation du modèle',
  ready: 'Prêt',
  attachPictures: 'Joindre des images',
  takePhoto: 'Prendre une photo',
  attached: 'Images jointes',
  removeName: 'Retirer {name}',
  dropPictures: 'Déposez des images pour les joindre',
  pictureBlind: 'Ce modèle ne voit pas les images.',
  pictureOther: '{name} n’est pas une image. Seules des images peuvent être jointes.',
  pictureMany: 'Un message peut avoir {most} images au plus, pas {count}.',
  pictureLarge: '{name} fait {size}. Une image peut faire {most} au plus.',
  pictureBroken: '{name} est endommagée, ou ce navigateur ne peut pas l’afficher.',
  pictureGone: 'Image : {name}',
  readingPrompt: 'Lecture des tokens : {done} sur {total}',
  searching: 'Lecture des documents : {done} sur {total}',
  sources: 'Sources',
  source: 'Source {number}',
  toolRunning: 'En cours : {name}',
  toolDone: 'Terminé : {name}',
  toolFailed: 'Échec : {name}',
  toolArguments: 'Arguments',
  toolCalculate: 'Calculatrice',
  toolDate: 'Date et heure',
  toolUnits: 'Conversion d’unités',
  toolTime: 'Heure dans un lieu',
  toolDays: 'Jours entre deux dates',
  toolResult: 'Résultat',
  passages:
    'Répondez à la question à partir de ces passages. S’ils n’y répondent pas, dites-le.\n\n{passages}\n\nQuestion : {question}',
  offline: 'Vous êtes hors ligne. Connectez-vous à Internet, puis réessayez.',
  oldBrowser:
    'Ce navigateur est trop ancien pour le chat. Utilisez une version actuelle de Chrome, Edge, Firefox ou Safari.',
  noModel: 'Ce chat n’a pas de modèle. Veuillez prévenir le propriétaire du site.',
  notFound: 'Le serveur n’a pas le modèle. Veuillez prévenir le propriétaire du site.',
  'error-unsupported':
    'Le modèle du chat ou ses réglages ne peuvent pas être utilisés ici. Veuillez prévenir le propriétaire du site.',
  'error-worker':
    'Le chat n’a pas pu démarrer. Rechargez la page ; si cela se reproduit, prévenez le propriétaire du site.',
  'error-network': 'Le modèle n’a pas pu être téléchargé. Vérifiez la connexion, puis réessayez.',
  'error-integrity':
    'Le téléchargement était endommagé. Réessayez : seules les parties endommagées sont téléchargées.',
  'error-format':
    'Le fichier du modèle est endommagé ou incomplet. Veuillez prévenir le propriétaire du site.',
  'error-architecture': 'Ce modèle ne peut pas être utilisé ici. Veuillez prévenir le propriétaire du site.',
  'error-out-of-memory': 'Il n’y a pas assez de mémoire. Fermez d’autres onglets, puis réessayez.',
  'error-storage-full': 'Le stockage de l’appareil est plein. Libérez de l’espace, puis réessayez.',
  'error-context-overflow':
    'Le message est trop long pour ce modèle. Raccourcissez-le ou commencez une nouvelle conversation.',
  'error-disposed': 'Le modèle a été fermé. Réessayez pour le recharger.',
  'error-internal': 'Un problème est survenu dans le modèle. Réessayez pour le recharger.',
}
