// The texts of `english.ts` in French.
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

export const WIDGET: WidgetWords = {
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
  searching: 'Lecture des documents : {done} sur {total}',
  sources: 'Sources',
  source: 'Source {number}',
  toolRunning: 'En cours : {name}',
  toolDone: 'Terminé : {name}',
  toolFailed: 'Échec : {name}',
  toolArguments: 'Arguments',
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
