package cli

import (
	"fmt"

	"github.com/urfave/cli/v2"
)

// The scripts ask the binary itself for what may follow, so they never go out
// of date with it.
const (
	bashCompletion = `_assay() {
  local cur="${COMP_WORDS[COMP_CWORD]}"
  local words=("${COMP_WORDS[@]:0:$COMP_CWORD}")
  if [[ "$cur" == -* ]]; then words+=("$cur"); fi
  COMPREPLY=($(compgen -W "$("${words[@]}" --generate-bash-completion 2>/dev/null)" -- "$cur"))
}
complete -o bashdefault -o default -F _assay assay
`
	zshCompletion = `#compdef assay
_assay() {
  local -a opts
  opts=("${(@f)$("${words[@]:0:$CURRENT-1}" --generate-bash-completion 2>/dev/null)}")
  if [[ -n "$opts" ]]; then _describe 'values' opts; else _files; fi
}
compdef _assay assay
`
	fishCompletion = `complete -c assay -f -a '(set -l w (commandline -opc); $w --generate-bash-completion 2>/dev/null)'
complete -c assay -s c -l config -r -F
`
)

func (s streams) completionCommand() *cli.Command {
	return &cli.Command{
		Name:      "completion",
		ArgsUsage: "bash|zsh|fish",
		Action: func(c *cli.Context) error {
			scripts := map[string]string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}
			script, ok := scripts[c.Args().First()]
			if !ok || c.NArg() != 1 {
				return usage("completion: expected one of bash, zsh, fish, found %q", c.Args().First())
			}
			_, err := fmt.Fprint(s.Out, script)
			return err
		},
	}
}
