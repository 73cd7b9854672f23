package report

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay/results"
)

// commands are the only ones that a table may use, with how many arguments in
// braces each takes.
var commands = map[string]int{
	"begin": 1, "end": 1, "centering": 0, "caption": 1, "label": 1, "setlength": 2, "tabcolsep": 0, "small": 0, "scriptsize": 0, "footnotesize": 0, "addlinespace": 0,
	"allowbreak": 0, "endhead": 0, "endfoot": 0, "raggedright": 0, "toprule": 0, "midrule": 0, "bottomrule": 0,
	"textbf": 1, "textsuperscript": 1, "par": 0, "medskip": 0, "ldots": 0, "mu": 0, "rightarrow": 0, "kappa": 0,
	"textbackslash": 0, "textasciitilde": 0, "textasciicircum": 0, "textless": 0, "textgreater": 0, "textbar": 0,
	"textasciigrave": 0, "textquotesingle": 0, "textperiodcentered": 0, "geq": 0, "leq": 0, "times": 0, "pm": 0,
}

// checkLaTeX reads what LaTeX writes as LaTeX would: groups and environments
// nest, nothing special stands unescaped, every command is known and has its
// arguments, each row has as many cells as columns, and the rules stand where
// booktabs wants them.
func checkLaTeX(src string) error {
	var groups []string // "{", "$" and names of environments
	var columns, cells, rows int
	var rules []string
	inTable := func() bool {
		return len(groups) > 0 && (groups[len(groups)-1] == "tabular" || groups[len(groups)-1] == "longtable")
	}
	captioned := false // this line of a longtable is its caption
	for i := 0; i < len(src); {
		c := src[i]
		switch {
		case c == '\\':
			i++
			if i == len(src) {
				return fmt.Errorf("a backslash at the end")
			}
			if strings.IndexByte(`{}$&#%_`, src[i]) >= 0 {
				i++
				continue
			}
			if src[i] == '\\' {
				i++
				if rest := strings.TrimLeft(src[i:], " \n"); strings.HasPrefix(rest, "[") || strings.HasPrefix(rest, "*") {
					return fmt.Errorf("a line begins with what the end of the one before takes for an argument")
				}
				if inTable() {
					if captioned {
						captioned = false
						continue
					}
					if cells+1 != columns {
						return fmt.Errorf("a row of %d cells in %d columns", cells+1, columns)
					}
					cells, rows = 0, rows+1
				}
				continue
			}
			from := i
			for i < len(src) && (src[i] >= 'a' && src[i] <= 'z' || src[i] >= 'A' && src[i] <= 'Z') {
				i++
			}
			name := src[from:i]
			args, known := commands[name]
			if !known {
				return fmt.Errorf("the command %q", name)
			}
			if args > 0 && (i == len(src) || src[i] != '{') {
				return fmt.Errorf("%s without an argument", name)
			}
			if args == 0 && i < len(src) && strings.IndexByte("{ \n}$\\", src[i]) < 0 {
				return fmt.Errorf("%s runs into %q", name, src[i])
			}
			captioned = captioned || name == "caption" && inTable()
			if strings.HasSuffix(name, "rule") {
				if strings.HasPrefix(strings.TrimLeft(src[i:], " \n"), "[") {
					return fmt.Errorf("a row begins with what %s takes for an argument", name)
				}
				rules = append(rules, name)
				if name == "toprule" && rows > 0 || name == "midrule" && rows == 0 {
					return fmt.Errorf("%s after %d rows", name, rows)
				}
			}
			if name == "begin" || name == "end" {
				end := strings.IndexByte(src[i:], '}')
				env := src[i+1 : i+end]
				i += end + 1
				if name == "begin" {
					groups = append(groups, env)
					if env == "tabular" || env == "longtable" {
						rows = 0
						m := regexp.MustCompile(`^\{((?:[lr]|p\{\d+pt\})+)\}`).FindStringSubmatch(src[i:])
						if m == nil {
							return fmt.Errorf("a tabular without columns")
						}
						columns, i = strings.Count(m[1], "l")+strings.Count(m[1], "r")+strings.Count(m[1], "p{"), i+len(m[0])
					}
				} else if len(groups) == 0 || groups[len(groups)-1] != env {
					return fmt.Errorf("end of %s inside %v", env, groups)
				} else {
					groups = groups[:len(groups)-1]
				}
			}
			continue
		case c == '{':
			groups = append(groups, "{")
		case c == '}':
			if len(groups) == 0 || groups[len(groups)-1] != "{" {
				return fmt.Errorf("a closing brace inside %v", groups)
			}
			groups = groups[:len(groups)-1]
		case c == '$':
			if len(groups) > 0 && groups[len(groups)-1] == "$" {
				groups = groups[:len(groups)-1]
			} else {
				groups = append(groups, "$")
			}
		case c == '&':
			if !inTable() {
				return fmt.Errorf("& outside a row, inside %v", groups)
			}
			cells++
		case c == '%':
			// Our own comments only: at the start of the file, or after a brace at a
			// line's end.
			if i != 0 && (src[i-1] != '{' || src[i+1] != '\n') {
				return fmt.Errorf("%% in the middle")
			}
			for i < len(src) && src[i] != '\n' {
				i++
			}
			continue
		case strings.IndexByte("#_^~<>|`'", c) >= 0:
			return fmt.Errorf("%q unescaped", c)
		case c < ' ' && c != '\n':
			return fmt.Errorf("the control character %q", c)
		case c == '\n' && i > 0 && src[i-1] == '\n' && len(groups) > 0:
			return fmt.Errorf("a blank line inside %v", groups)
		}
		i++
	}
	if len(groups) > 0 {
		return fmt.Errorf("%v does not end", groups)
	}
	if !regexp.MustCompile(`^(toprule midrule bottomrule ?)*$`).MatchString(strings.Join(rules, " ")) || columns > 0 && len(rules) == 0 {
		return fmt.Errorf("rules %s", rules)
	}
	return nil
}

// TestLaTeXIsValid: the tables and the methods are, also when every text is
// hostile.
func TestLaTeXIsValid(t *testing.T) {
	for _, synthetic := range []bool{true, false} {
		sections, m := fixture(synthetic)
		for _, s := range append(sections, section(m.Run, true)) {
			for _, table := range s.Tables {
				var b bytes.Buffer
				if err := LaTeX(&b, table, m); err != nil {
					t.Fatal(err)
				}
				if err := checkLaTeX(b.String()); err != nil {
					t.Errorf("%s: %v\n%s", table.Name, err, b.String())
				}
				if strings.Contains(b.String(), "SYNTHETIC") != synthetic || !strings.Contains(b.String(), "\\label{tab:"+table.Name+"}") {
					t.Errorf("%s: the mark or the label is wrong", table.Name)
				}
			}
		}
		var b bytes.Buffer
		if err := latexMethods(&b, m); err != nil {
			t.Fatal(err)
		}
		if err := checkLaTeX(b.String()); err != nil {
			t.Errorf("methods: %v", err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{`\`, `\\[2cm]`, `[x] \end{tabular}`, "{", "}", "&", "% no", "$x$", "--- -1 -x", "\n\n", `\input{/etc/passwd}`, "#1", "~", "a\\\\b"}))
		table := results.Table{Name: "t", Title: text.Draw(t, "title"), Caption: text.Draw(t, "caption"), Notes: []string{text.Draw(t, "note")},
			Columns: []results.Column{{Name: "a", Title: text.Draw(t, "a")}, {Name: "b", Title: text.Draw(t, "b"), Unit: text.Draw(t, "unit"), Digits: 2}, {Name: "c", Title: "c", Digits: 2}}}
		for range rapid.IntRange(0, 3).Draw(t, "rows") {
			table.Rows = append(table.Rows, []results.Cell{words(text.Draw(t, "cell")), est(-1, -2, 3, 4), none(text.Draw(t, "why")+"!", 0, 0, 0)})
		}
		var b bytes.Buffer
		if err := LaTeX(&b, table, Meta{}); err != nil {
			t.Fatal(err)
		}
		if err := checkLaTeX(b.String()); err != nil {
			t.Fatalf("%v\n%s", err, b.String())
		}
	})
}

// TestTheLaTeXCheckCanFail: each kind of mistake is found.
func TestTheLaTeXCheckCanFail(t *testing.T) {
	const good = "% needs x\n\\begin{table}\n\\centering\n\\caption{A \\% of\\_it}\n\\label{tab:x}\n\\begin{tabular}{lr}\n\\toprule\na & b \\\\\n\\midrule\nc & $-$1 {\\footnotesize [1, 2]} \\\\\n\\bottomrule\n\\end{tabular}\n\\end{table}\n"
	if err := checkLaTeX(good); err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string][2]string{
		"an open group":        {"[1, 2]}", "[1, 2]"},
		"a row too short":      {"c & ", "c "},
		"a row too long":       {"c & ", "c & d & "},
		"another environment":  {"\\end{tabular}", "\\end{table}"},
		"a bare underscore":    {"\\_", "_"},
		"a bare percent":       {"\\%", "%"},
		"an unknown command":   {"\\centering", "\\input{x}"},
		"no midrule":           {"\\midrule\n", ""},
		"a bracket after \\\\": {"c & ", "[c] & "},
		"open mathematics":     {"$-$", "$-"},
		"a glued command":      {"\\footnotesize ", "\\footnotesizex"},
		"& in a caption":       {"of\\_it", "& it"},
	} {
		if bad := strings.Replace(good, change[0], change[1], 1); bad == good || checkLaTeX(bad) == nil {
			t.Errorf("%s is not found", what)
		}
	}
}
