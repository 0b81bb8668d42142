// `halfbyte completion`: scripts that let a shell complete commands, options and files.
import { Argument, Command } from 'commander'
import { wrongOption } from '../../../core/base/check-options.ts'

/** A command, as a script names it. */
interface Known {
  readonly name: string
  readonly about: string
  /** Long names, with their descriptions and possible values. */
  readonly options: readonly { readonly flag: string; readonly about: string; readonly takesValue: boolean }[]
}

const SHELLS = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof SHELLS)[number]

/** `commands` is called when this command runs, so that the script includes it too. */
export function completionCommand(commands: () => readonly Command[]): Command {
  return new Command('completion')
    .description(
      'Print a script for a shell, which then completes commands, options and files. For bash: eval "$(halfbyte completion bash)"',
    )
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .action((shell: Shell) => void process.stdout.write(completionScript(shell, commands())))
}

/** The completion script for these commands in a shell. */
export function completionScript(shell: Shell, commands: readonly Command[]): string {
  const known = commands.map(knownOf)
  switch (shell) {
    case 'bash':
      return bashScript(known)
    case 'zsh':
      return zshScript(known)
    case 'fish':
      return fishScript(known)
    default:
      throw wrongOption('shell', shell satisfies never, `one of ${SHELLS.join(', ')}`)
  }
}

const knownOf = (command: Command): Known => ({
  name: command.name(),
  about: firstSentence(command.description()),
  options: [
    ...command.options.flatMap(({ long, description, required, optional }) =>
      long ? [{ flag: long, about: firstSentence(description), takesValue: required || optional }] : [],
    ),
    { flag: '--help', about: 'show help for the command', takesValue: false },
  ],
})

/** The short description of a command or option. */
export const firstSentence = (text: string): string => /^.*?[^.](?=\.(?:\s|$)|$)/s.exec(text)?.[0] ?? text

/** The text in single quotes, escaped for the scripts of all shells. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

function bashScript(known: readonly Known[]): string {
  const cases = known.map(
    ({ name, options }) => `    ${name}) words='${options.map(({ flag }) => flag).join(' ')}' ;;`,
  )
  return `_halfbyte() {
  local current=\${COMP_WORDS[COMP_CWORD]} words=
  case \${COMP_WORDS[1]} in
${cases.join('\n')}
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then
    words='${known.map(({ name }) => name).join(' ')} --help --version'
  elif [ "\${current#-}" = "$current" ]; then
    COMPREPLY=($(compgen -f -- "$current"))
    return
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o filenames -F _halfbyte halfbyte
`
}

function zshScript(known: readonly Known[]): string {
  const described = (name: string, about: string) =>
    quoted(`${name.replaceAll(':', '\\:')}:${about.replaceAll(':', '\\:')}`)
  const cases = known.map(
    ({ name, options }) =>
      `    ${name}) offered=(${options.map(({ flag, about }) => described(flag, about)).join(' ')}) ;;`,
  )
  return `#compdef halfbyte
_halfbyte() {
  local -a offered
  if (( CURRENT == 2 )); then
    offered=(${known.map(({ name, about }) => described(name, about)).join(' ')})
    _describe command offered
    return
  fi
  case $words[2] in
${cases.join('\n')}
  esac
  if [[ $words[CURRENT] == -* ]]; then
    _describe option offered
  else
    _files
  fi
}
compdef _halfbyte halfbyte
`
}

function fishScript(known: readonly Known[]): string {
  const commands = known.map(
    ({ name, about }) => `complete -c halfbyte -n __fish_use_subcommand -f -a ${name} -d ${quoted(about)}`,
  )
  const options = known.flatMap(({ name, options }) =>
    options.map(
      ({ flag, about, takesValue }) =>
        `complete -c halfbyte -n '__fish_seen_subcommand_from ${name}' -l ${flag.slice(2)}${takesValue ? ' -r' : ''} -d ${quoted(about)}`,
    ),
  )
  return `${[...commands, ...options].join('\n')}\n`
}
