package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"The shell: bash, zsh or fish."`
}

func (completionCommand) Help() string {
	return `Examples:

    spool completion bash
    spool completion zsh
    spool completion fish

To use it from the next shell on:

    bash   spool completion bash > ~/.local/share/bash-completion/completions/spool
    zsh    spool completion zsh > ~/.zsh/completions/_spool, with that folder in fpath
    fish   spool completion fish > ~/.config/fish/completions/spool.fish
`
}

// Run prints the script.
func (c *completionCommand) Run(p *process, parser *kong.Kong) error {
	all := completions(parser.Model.Node, "")
	print := map[string]func(io.Writer, []completion){"bash": completeBash, "zsh": completeZsh, "fish": completeFish}[c.Shell]
	print(p.stdout, all)
	return nil
}

// completion is what can follow a command.
type completion struct {
	command  string // the words after spool; "" for spool itself
	commands []word
	flags    []word
	files    bool // its arguments are files
}

type word struct{ text, help string }

// completions walks through the grammar, the topmost command first.
func completions(node *kong.Node, path string) []completion {
	here := completion{command: path}
	for _, flag := range node.Flags {
		if flag.Hidden {
			continue
		}
		here.flags = append(here.flags, word{"--" + flag.Name, firstSentence(flag.Help)})
	}
	for _, arg := range node.Positional {
		here.files = here.files || arg.Name == "file"
		for _, choice := range arg.EnumSlice() {
			if choice != "" {
				here.commands = append(here.commands, word{choice, ""})
			}
		}
	}
	var below []completion
	for _, child := range node.Children {
		if child.Hidden {
			continue
		}
		here.commands = append(here.commands, word{child.Name, firstSentence(child.Help)})
		below = append(below, completions(child, strings.TrimSpace(path+" "+child.Name))...)
	}
	return append([]completion{here}, below...)
}

func firstSentence(s string) string {
	s, _, _ = strings.Cut(s, ". ")
	return strings.TrimSuffix(strings.ReplaceAll(s, "'", ""), ".")
}

func completionTexts(words []word) string {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = w.text
	}
	return strings.Join(all, " ")
}

// completeBash completes words; a flag's value, and arguments that are files, as bash does by itself.
func completeBash(w io.Writer, all []completion) {
	fmt.Fprint(w, `# bash completion for spool
_spool() {
  local cur=${COMP_WORDS[COMP_CWORD]} path="" i words="" flags=""
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path ${COMP_WORDS[i]}" in
`)
	writePaths(w, all)
	for _, c := range all {
		fmt.Fprintf(w, "    '%s') words='%s' flags='%s' ;;\n", prefixed(c.command), completionTexts(c.commands), completionTexts(c.flags))
	}
	fmt.Fprint(w, `  esac
  if [[ $cur == -* ]]; then words=$flags; fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _spool spool
`)
}

// writePaths writes how bash and zsh find the command that was typed so far, and the beginning of what
// depends on it.
func writePaths(w io.Writer, all []completion) {
	for _, c := range all {
		if c.command != "" {
			fmt.Fprintf(w, "      ' %s') path=' %s' ;;\n", c.command, c.command)
		}
	}
	fmt.Fprint(w, "    esac\n  done\n  case \"$path\" in\n")
}

func prefixed(command string) string {
	if command == "" {
		return ""
	}
	return " " + command
}

func completeZsh(w io.Writer, all []completion) {
	fmt.Fprint(w, `#compdef spool
# zsh completion for spool
_spool() {
  local path="" i
  local -a words_ flags_
  for ((i = 2; i < CURRENT; i++)); do
    case "$path ${words[i]}" in
`)
	writePaths(w, all)
	for _, c := range all {
		fmt.Fprintf(w, "    '%s')\n      words_=(%s)\n      flags_=(%s)\n      ;;\n", prefixed(c.command), described(c.commands), described(c.flags))
	}
	fmt.Fprint(w, `  esac
  if [[ ${words[CURRENT]} == -* ]]; then
    _describe 'flag' flags_
  elif (( ${#words_} )); then
    _describe 'command' words_
  else
    _files
  fi
}
if [ "$funcstack[1]" = "_spool" ]; then _spool "$@"; else compdef _spool spool; fi
`)
}

// described writes words as zsh's _describe wants them.
func described(words []word) string {
	var out []string
	for _, w := range words {
		out = append(out, "'"+w.text+":"+strings.ReplaceAll(w.help, ":", `\:`)+"'")
	}
	return strings.Join(out, " ")
}

func completeFish(w io.Writer, all []completion) {
	fmt.Fprint(w, `# fish completion for spool
function __spool_at
    set -l words (commandline -opc | string match -v -- '-*')
    set -e words[1]
    set -l line (string join ' ' -- $words)
    test "$line" = "$argv[1]"; or begin
        test (count $argv) -gt 1; and string match -q -- "$argv[1] *" "$line"
    end
end
complete -c spool -f
`)
	for _, c := range all {
		for _, sub := range c.commands {
			fmt.Fprintf(w, "complete -c spool -n '__spool_at \"%s\"' -a '%s' -d '%s'\n", c.command, sub.text, sub.help)
		}
		if c.files {
			fmt.Fprintf(w, "complete -c spool -n '__spool_at \"%s\" deep' -F\n", c.command)
		}
		for _, flag := range c.flags {
			fmt.Fprintf(w, "complete -c spool -n '__spool_at \"%s\" deep' -l '%s' -d '%s'\n", c.command, strings.TrimPrefix(flag.text, "--"), flag.help)
		}
	}
}
