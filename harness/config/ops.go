package config

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"assay/perturb"
	"assay/results"
)

// defaultProgramLimit is how long a program may take for one picture.
const defaultProgramLimit = 10 * time.Second

// flagName is the name of an op of the user's, and of its parameters, which are flags.
var flagName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// op is a program of the user's that changes pictures, as a condition.
func (c *checker) op(name string, e entry) perturb.Condition {
	if !flagName.MatchString(name) {
		c.Errorf(e.At, "ops", "expected a name of a to z, 0 to 9 and _ that begins with a letter, found %s", shown(name))
	}
	s := c.section(e.Value, JoinPath("ops", name), "command", "params", "time_limit")
	s.need("command")
	return perturb.Own(name, c.ownProgram(s, defaultProgramLimit))
}

// ownProgram is a program of the user's, which has as long as limit where nothing is said.
func (c *checker) ownProgram(s section, limit time.Duration) *perturb.Program {
	p := &perturb.Program{Dir: filepath.Dir(c.File), Limit: s.duration("time_limit", limit, false)}
	if s.get("command") != nil {
		words := s.command("[python3, my.py]")
		if len(words) > 0 {
			p.Path = c.program(words[0])
		}
		var parts [][]byte
		for _, w := range words {
			p.Command = append(p.Command, w.text)
			parts = append(parts, []byte(w.text), c.content(w))
		}
		p.Digest = string(results.DigestOf(parts...))
	}
	p.Params = c.params(s)
	return p
}

// defaultTextsLimit is how long a program may take for all questions of a data set.
const defaultTextsLimit = 10 * time.Minute

// texts are questions in other words: german: {path: german.csv}, or a program that makes them.
func (c *checker) texts(cfg *Config, name string, e entry) {
	if !flagName.MatchString(name) {
		c.Errorf(e.At, "texts", "expected a name of a to z, 0 to 9 and _ that begins with a letter, found %s", shown(name))
	}
	s := c.section(e.Value, JoinPath("texts", name), "path", "command", "params", "time_limit")
	file := s.get("path")
	if (file == nil) == (s.get("command") == nil) {
		c.Errorf(e.At, s.path, "expected path or command, one of them; write {path: %s.csv}", name)
		return
	}
	if file == nil {
		p := c.ownProgram(s, defaultTextsLimit)
		cfg.Own = append(cfg.Own, perturb.Worded(name, p.Digest, p))
		return
	}
	s.none("path is given", "remove the key, which is of a command", "params", "time_limit")
	t := Texts{Name: name, Path: s.file("path")}
	if t.Path == "" {
		return
	}
	var err error
	if t.Content, err = c.files.ReadFile(t.Path); err != nil {
		s.wrong("path", file, "expected a file that can be read, found %s at %s", cause(err), shown(t.Path))
	}
	cfg.Texts = append(cfg.Texts, t)
	cfg.Own = append(cfg.Own, perturb.Worded(name, string(results.DigestOf(t.Content)), nil))
}

// command is a list of a program and its arguments; example is one.
func (s section) command(example string) (out []word) {
	n := s.get("command")
	s.asks("command", Rule{Type: List})
	path := JoinPath(s.path, "command")
	if n.Kind != isList || len(n.Items) == 0 {
		s.wrong("command", n, "expected a list of the program and its arguments, found %s; write %s", n.Found(), example)
		return nil
	}
	for i, it := range n.Items {
		w, ok := s.c.text(it, fmt.Sprintf("%s[%d]", path, i))
		if !ok {
			continue
		}
		if holdsSecret(w.text) {
			// Not shown: it may hold the secret.
			s.c.Errorf(w.at, path, "expected no secret in a command, because it is stored with the results, found an argument that sets one; use the server's option for a key file, or its environment")
		}
		out = append(out, w)
	}
	return out
}

// program is where the program of a command is: in PATH, or beside the file.
func (c *checker) program(w word) string {
	if !strings.ContainsRune(filepath.ToSlash(w.text), '/') {
		if p, err := exec.LookPath(w.text); err == nil {
			return p
		}
	}
	p, err := filepath.Abs(c.path(w.text))
	if err != nil {
		c.Errorf(w.at, w.path, "expected a program, found no way to it: %v", err)
		return ""
	}
	info, err := c.files.Stat(c.path(w.text))
	switch {
	case err != nil:
		c.Errorf(w.at, w.path, "expected a program in PATH or beside this file, found none called %s", shown(w.text))
	case !info.Mode().IsRegular() || info.Mode()&0o111 == 0 && runtime.GOOS != "windows":
		c.Errorf(w.at, w.path, "expected a program, found %s, which cannot be run; chmod +x it, or name what runs it first: [python3, %s]", shown(w.text), cut(w.text))
	}
	return p
}

// content is of the file that a word of a command names, where it lies in the folder of
// bench.yaml; nil: it names none there.
func (c *checker) content(w word) []byte {
	folder, err := filepath.Abs(filepath.Dir(c.File))
	p, err2 := filepath.Abs(c.path(w.text))
	if err != nil || err2 != nil {
		return nil
	}
	if rel, err := filepath.Rel(folder, p); err != nil || !filepath.IsLocal(rel) {
		return nil
	}
	if info, err := c.files.Stat(c.path(w.text)); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	b, err := c.files.ReadFile(c.path(w.text))
	if err != nil {
		c.Errorf(w.at, w.path, "expected a file that can be read, found %s at %s", cause(err), shown(w.text))
	}
	return append([]byte("file "), b...)
}

// params are the parameters of an op: {strength: {min: 0, max: 1, default: 0.5}}.
func (c *checker) params(s section) (out []perturb.Param) {
	n, path := s.get("params"), JoinPath(s.path, "params")
	s.asks("params", Rule{Type: Mapping})
	if n == nil || !c.mapping(n, path) {
		return nil
	}
	// Words of a sweep, and flags that are always there.
	taken := []string{"condition", "region", "seed"}
	for _, e := range n.Entries {
		at := JoinPath(path, e.Key)
		c.seen.Name(at, strings.Split(s.path, ".")[0]+".*.params.*")
		if !flagName.MatchString(e.Key) || slices.Contains(taken, e.Key) {
			c.Errorf(e.At, path, "expected a name of a to z, 0 to 9 and _ that begins with a letter, and none of %s, found %s", strings.Join(taken, ", "), shown(e.Key))
		}
		var v struct {
			Min     float64 `yaml:"min,needed" range:"-1e9..1e9"`
			Max     float64 `yaml:"max,needed" range:"-1e9..1e9"`
			Default float64 `yaml:"default,needed" range:"-1e9..1e9"`
		}
		before := len(c.Errs)
		c.section(e.Value, at, tags(&v)...).fill(&v)
		if len(c.Errs) == before && !(v.Min <= v.Default && v.Default <= v.Max) {
			c.Errorf(e.Value.At, at, "expected min <= default <= max, found %v, %v and %v", v.Min, v.Default, v.Max)
		}
		out = append(out, perturb.Param{Name: e.Key, Min: v.Min, Max: v.Max, Default: v.Default})
	}
	return out
}
