#!/usr/bin/env python3
"""Writes the completion of `dunnage` for bash, zsh and fish.

completion.py TOOL FOLDER    asks the built command TOOL for its options, and writes
                             FOLDER/{bash-completion/completions,zsh/site-functions,fish/vendor_completions.d}
"""
import re

import commands

BASH = """\
# Completion of dunnage for bash. Made by generate/completion.py.
_dunnage() {
    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} place=COMP_CWORD
    local names='' values='' options='' option='' command=${COMP_WORDS[1]}
    COMPREPLY=()
    # Bash takes --option=value apart into three words.
    if [[ $word == = ]]; then
        option=$previous word=''
    elif [[ $previous == = ]]; then
        option=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "@COMMANDS@ @OPTIONS@" -- "$word")
        return
    fi
    case $command in
@CASES@
    *) return ;;
    esac
    # The value of an option: after '=', or after the option if it must have a value.
    case " $options " in *" $previous "*) option=$previous ;; esac
    if [[ $option ]]; then
        _dunnage_value "$command $option" "$word"
        return
    fi
    if [[ $command == run ]]; then
        # The words after the options are another command.
        for ((place = 2; place < COMP_CWORD; ++place)); do
            case ${COMP_WORDS[place]} in
            --) ((++place)); break ;;
            =) ((++place)) ;;
            -*)
                if [[ " $options " == *" ${COMP_WORDS[place]} "* && ${COMP_WORDS[place + 1]} != = ]]; then
                    ((++place))
                fi ;;
            *) break ;;
            esac
        done
        if ((place < COMP_CWORD)) && declare -F _command_offset > /dev/null; then
            _command_offset "$place"
            return
        fi
        [[ $word == -* ]] || { mapfile -t COMPREPLY < <(compgen -c -- "$word"); return; }
    fi
    mapfile -t COMPREPLY < <(compgen -W "$names $values" -- "$word")
    [[ $word == -* || -n $values ]] || mapfile -t COMPREPLY < <(compgen -f -- "$word")
}

# _dunnage_value "COMMAND OPTION" WORD: completes the value of an option.
_dunnage_value() {
    case $1 in
@VALUES@
    *) return ;;
    esac
}

complete -o filenames -F _dunnage dunnage
"""


def all_names(options, values=(commands.NO, commands.MAY, commands.MUST)):
    return [name for option in options for name in option.names if option.value in values]


def words(options):
    """Returns what a word that is no option can be."""
    return [choice for option in options if not option.names for choice in option.choices]


def bash(dunnage):
    cases, values = [], []
    for command in dunnage.commands:
        with_value = [option for option in command.options if option.names and option.value != commands.NO]
        cases += [f"    {command.name})", f"        names='{' '.join(all_names(command.options))}'",
                  f"        values='{' '.join(words(command.options))}'",
                  f"        options='{' '.join(all_names(command.options, (commands.MUST,)))}' ;;"]
        for option in with_value:
            patterns = "|".join(f"'{command.name} {name}'" for name in option.names)
            if option.choices:
                made = f"compgen -W '{' '.join(option.choices)}' -- \"$2\""
            elif option.file:
                made = 'compgen -f -- "$2"'
            else:
                continue
            values += [f"    {patterns}) mapfile -t COMPREPLY < <({made}) ;;"]
    made = BASH.replace("@COMMANDS@", " ".join(command.name for command in dunnage.commands))
    made = made.replace("@OPTIONS@", " ".join(all_names(dunnage.options)))
    return made.replace("@CASES@", "\n".join(cases)).replace("@VALUES@", "\n".join(values))


def told(text):
    """Returns one line about an option, without what a shell could read as its own."""
    return re.sub(r"[`'\"\[\]\\:$]", "", " ".join(text.split()))


def _zsh_value(option):
    if option.choices:
        return f":value:({' '.join(option.choices)})"
    return ":file:_files" if option.file else ":value: "


def _zsh_option(option):
    lines = []
    for name in option.names:
        value = _zsh_value(option)
        spelled = {commands.NO: ("", ""), commands.MUST: ("=", value), commands.MAY: ("=-", ":" + value)}
        mark, value = spelled[option.value]
        lines.append(f"'{name}{mark}[{told(option.help)}]{value}'")
    return lines


def zsh(dunnage):
    lines = ["#compdef dunnage", "# Completion of dunnage for zsh. Made by generate/completion.py.",
             "if ((CURRENT == 2)); then", "    local -a names=("]
    lines += [f"        '{command.name}:{told(command.summary)}'" for command in dunnage.commands]
    lines += ["    )", "    _describe command names",
              "    _arguments " + " ".join(line for option in dunnage.options for line in _zsh_option(option)),
              "    return", "fi", "shift words; ((CURRENT--))", "case $words[1] in"]
    for command in dunnage.commands:
        made = [line for option in command.options if option.names for line in _zsh_option(option)]
        if command.tail:
            made += ["'*::command:_normal'"]
        elif words(command.options):
            made += [f"'1:name:({' '.join(words(command.options))})'"]
        elif command.name == "report":
            made += ["'*:file:_files -g \"*.json\"'"]
        lines += [f"{command.name})", "    _arguments -A '-*' \\", "        " + " \\\n        ".join(made), "    ;;"]
    return "\n".join(lines + ["esac"]) + "\n"


def fish(dunnage):
    lines = ["# Completion of dunnage for fish. Made by generate/completion.py.", "complete -c dunnage -f"]
    for command in dunnage.commands:
        lines.append(f"complete -c dunnage -n __fish_use_subcommand -a {command.name} -d '{told(command.summary)}'")
    for name, options in [("", dunnage.options), *((command.name, command.options) for command in dunnage.commands)]:
        when = f"'__fish_seen_subcommand_from {name}'" if name else "__fish_use_subcommand"
        for option in options:
            if not option.names:
                if option.choices:
                    lines.append(f"complete -c dunnage -n {when} -a '{' '.join(option.choices)}'")
                continue
            spelled = " ".join(f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in option.names)
            value = f" -x -a '{' '.join(option.choices)}'" if option.choices else " -r -F" if option.file else " -x"
            value = value if option.value == commands.MUST else ""
            lines.append(f"complete -c dunnage -n {when} {spelled}{value} -d '{told(option.help)}'")
    words_of_command = "(__fish_complete_subcommand --fcs-skip=2)"
    lines.append(f"complete -c dunnage -n '__fish_seen_subcommand_from run' -a '{words_of_command}'")
    lines.append("complete -c dunnage -n '__fish_seen_subcommand_from report' -F")
    return "\n".join(lines) + "\n"


def main():
    options = commands.arguments(__doc__)
    dunnage, _ = commands.read(options.tool)
    for name, text in {"bash-completion/completions/dunnage": bash(dunnage),
                       "zsh/site-functions/_dunnage": zsh(dunnage),
                       "fish/vendor_completions.d/dunnage.fish": fish(dunnage)}.items():
        commands.write(options.folder / name, text)


if __name__ == "__main__":
    main()
