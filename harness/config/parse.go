// Bench reads bench.yaml strictly: every unknown key, duplicate, bad
// range, missing file and unknown name is reported with file:line:column, all
// of them at once, before anything is sent.
//
//  1. Read reads the file.
//  2. Parse turns its bytes into a tree of values that know where they stand,
//     resolves the tree against the names that exist, and fills in defaults.
//
// Paths in a bench.yaml are relative to the folder it stands in.

package config

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"assay/results/text"
)

// files is where Parse looks for what a bench.yaml names.
type files interface {
	Stat(path string) (fs.FileInfo, error)
	ReadFile(path string) ([]byte, error)
}

// disk is the file system of the machine.
type disk struct{}

func (disk) Stat(path string) (fs.FileInfo, error) { return os.Stat(path) }
func (disk) ReadFile(path string) ([]byte, error)  { return os.ReadFile(path) }

// Read reads and parses a file. What is wrong with its content is an Errors.
func Read(file string, known Known) (*Config, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the experiment: %w; name an existing bench.yaml", err)
	}
	cfg, errs := Parse(file, text, known, disk{})
	if len(errs) > 0 {
		return nil, errs
	}
	return cfg, nil
}

// maxText is far more than any experiment needs; the time and memory of the YAML
// parser grow with the square of what is nested.
const maxText = 1 << 16 // bytes

// Parse resolves the text of a bench.yaml. The config is nil when there are
// errors; file is for their positions and for the folder that paths start from.
func Parse(file string, text []byte, known Known, files files) (*Config, Errors) {
	return parse(file, text, known, files, nil)
}

// parse is Parse. seen takes down what is asked of values; nil: nobody wants to know.
func parse(file string, text []byte, known Known, files files, seen *record) (*Config, Errors) {
	t := Tree{File: file}
	if len(text) > maxText {
		t.Errorf(pos{Line: 1, Column: 1}, "", "expected at most %d bytes, found %d; is this a bench.yaml?", maxText, len(text))
		return nil, t.Errs
	}
	root := t.Parse(text)
	if root == nil {
		t.Errs.Sort()
		return nil, t.Errs
	}
	c := checker{Tree: t, known: known, files: files, seen: seen, unsure: len(t.Errs) > 0, foreign: len(t.Errs) > 0}
	cfg := c.config(root)
	// Where the tree holds a hole, what is then missing is no error of its own.
	early := len(t.Errs)
	c.Errs = append(c.Errs[:early:early], slices.DeleteFunc(slices.Clone(c.Errs[early:]), func(e readError) bool {
		return t.Holes[e.Path]
	})...)
	if len(c.Errs) > 0 {
		c.Errs.Sort()
		return nil, c.Errs
	}
	cfg.File, cfg.Text = file, text
	return cfg, nil
}

// checker resolves a tree. It goes on after every error.
type checker struct {
	Tree
	known Known
	files files
	seen  *record
	// unsure says that something could not be understood, so that a name which
	// seems unused may well be used there.
	unsure bool
	// foreign says that there is a study whose names are not known here.
	foreign  bool
	datasets names
	backends names
	models   names
	judges   names
}

// names are the names that one section defines.
type names struct {
	section string
	order   []string
	at      map[string]pos
	used    map[string]bool
	unsure  bool // a name of this section was misspelt somewhere
}

func (ns *names) add(e entry) {
	if ns.at == nil {
		ns.at, ns.used = map[string]pos{}, map[string]bool{}
	}
	ns.order = append(ns.order, e.Key)
	ns.at[e.Key] = e.At
}

// lost notes that what stands at path was not understood.
func (c *checker) lost(path string) {
	section, _, _ := strings.Cut(path, ".")
	if slices.Contains([]string{"", "studies", "models", "judges"}, section) { // where names are used
		c.unsure = true
	}
}

// word is a text and where it stands.
type word struct {
	text string
	at   pos
	path string
}

// refer looks a name up, reporting one that is not defined.
func (c *checker) refer(ns *names, w word) bool {
	if _, ok := ns.at[w.text]; ok {
		ns.used[w.text] = true
		return true
	}
	ns.unsure = true
	if len(ns.order) == 0 {
		c.Errorf(w.at, w.path, "expected a name under %s, found %s, and nothing is defined there", ns.section, shown(w.text))
	} else {
		c.Errorf(w.at, w.path, "expected %s, found %s, which is not under %s%s", oneOf(ns.order), shown(w.text), ns.section, text.DidYouMean(w.text, ns.order))
	}
	return false
}

func (c *checker) unused(ns *names, by string) {
	if c.unsure || ns.unsure {
		return
	}
	for _, n := range ns.order {
		if !ns.used[n] {
			c.Errorf(ns.at[n], JoinPath(ns.section, n), "is not used by any %s; use it or remove it", by)
		}
	}
}

// section is a mapping under inspection.
type section struct {
	c    *checker
	n    *Node
	path string
	keys []string // that it may have
}

// section checks that n is a mapping of the keys given.
func (c *checker) section(n *Node, path string, keys ...string) section {
	s := section{c, n, path, keys}
	if n == nil || !c.mapping(n, path) {
		s.n = &Node{}
		if n != nil {
			s.n.At = n.At
		}
		return s
	}
	c.seen.Ask(path, Rule{Type: Mapping})
	for _, key := range keys {
		s.asks(key, Rule{})
	}
	for _, e := range n.Entries {
		switch full := JoinPath(path, e.Key); {
		case c.refused(full, e.At):
		case slices.Contains(secretKeys(), e.Key):
			c.Errorf(e.At, full, "expected no secret in this file; put it into an environment variable and name that under api_key_env, or into a file and name that under api_key_file")
		case !slices.Contains(keys, e.Key):
			c.lost(path)
			c.Errorf(e.At, path, "expected %s, found the unknown key %s%s", oneOf(keys), shown(e.Key), text.DidYouMean(e.Key, keys))
		}
	}
	return s
}

// secretKeys are keys under which people put secrets.
func secretKeys() []string {
	return []string{"api_key", "apikey", "api-key", "key", "token", "bearer", "password", "secret", "authorization", "Authorization"}
}

func (c *checker) mapping(n *Node, path string) bool {
	if n.Kind == IsMapping {
		return true
	}
	c.lost(path)
	c.Errorf(n.At, path, "expected a mapping of keys to values, found %s", n.Found())
	return false
}

// refused reports a feature that this version does not have. path may end in
// "=value".
func (c *checker) refused(path string, at pos) bool {
	what, later := later(path)
	if !later {
		return false
	}
	path, word, _ := strings.Cut(path, "=")
	if word == "" {
		c.Errorf(at, path, "this version does not have %s yet; remove the key", what)
	} else {
		c.Errorf(at, path, "this version does not have %s (%s) yet; choose another", what, word)
	}
	return true
}

// get is the value of a key; nil: it is absent.
func (s section) get(key string) *Node {
	for _, e := range s.n.Entries {
		if e.Key == key {
			return e.Value
		}
	}
	return nil
}

func (s section) wrong(key string, n *Node, format string, args ...any) {
	s.c.Errorf(n.At, JoinPath(s.path, key), format, args...)
}

// need reports an absent key.
func (s section) need(key string) bool {
	s.asks(key, Rule{Needed: true})
	if s.get(key) != nil {
		return true
	}
	if s.n.Kind == IsMapping {
		s.c.Errorf(s.n.At, s.path, "expected the key %s, found none; add it", key)
	}
	return false
}

// text is a scalar that must be text.
func (s section) text(key string) (word, bool) {
	s.asks(key, Rule{Type: valueText})
	n := s.get(key)
	if n == nil {
		return word{}, false
	}
	return s.c.text(n, JoinPath(s.path, key))
}

func (c *checker) text(n *Node, path string) (word, bool) {
	switch n.Kind {
	case isText:
		if strings.TrimSpace(n.Raw) == "" || strings.ContainsFunc(n.Raw, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			c.Errorf(n.At, path, "expected a line of text, found %s", shown(n.Raw))
			return word{}, false
		}
		return word{n.Raw, n.At, path}, true
	case isWhole, isNumber, isFlag:
		c.Errorf(n.At, path, "expected text, found %s; quote it", n.Found())
	default:
		c.Errorf(n.At, path, "expected text, found %s", n.Found())
	}
	c.lost(path)
	return word{}, false
}

// choice is a text that must be one of those given; "" when it is not.
func (s section) choice(key string, from ...string) string {
	w, ok := s.text(key)
	s.asks(key, Rule{Type: Choice, Values: from})
	if !ok {
		return ""
	}
	if s.c.refused(w.path+"="+w.text, w.at) {
		s.c.lost(w.path)
		return ""
	}
	if !slices.Contains(from, w.text) {
		s.c.lost(w.path)
		s.c.Errorf(w.at, w.path, "expected %s, found %s%s", oneOf(from), shown(w.text), text.DidYouMean(w.text, from))
		return ""
	}
	return w.text
}

// whole is a whole number; absent: def.
func (s section) whole(key string, def, least, most int) int {
	r := Rule{Type: Whole, Least: strconv.Itoa(least), Most: strconv.Itoa(most)}
	if def >= least {
		r.Default = strconv.Itoa(def)
	}
	s.asks(key, r)
	n := s.get(key)
	if n == nil {
		return def
	}
	v, ok := n.Value.(int64)
	if u, big := n.Value.(uint64); big && u <= uint64(most) {
		v, ok = int64(u), true
	}
	if n.Kind != isWhole || !ok || !decimal(n.Raw) || v < int64(least) || v > int64(most) {
		s.wrong(key, n, "expected a whole number from %d to %d, found %s", least, most, n.Found())
		return def
	}
	return int(v)
}

// number is any number; absent: def.
func (s section) number(key string, def, least, most float64) float64 {
	r := Rule{Type: Number, Least: short(least), Most: short(most)}
	if def > least {
		r.Default = short(def)
	}
	s.asks(key, r)
	n := s.get(key)
	if n == nil {
		return def
	}
	var v float64
	ok := true
	switch x := n.Value.(type) {
	case int64:
		v, ok = float64(x), decimal(n.Raw)
	case uint64:
		v, ok = float64(x), decimal(n.Raw)
	case float64:
		v = x
	default:
		ok = false
	}
	if !ok || !(v >= least && v <= most) {
		s.wrong(key, n, "expected a number from %v to %v, found %s", least, most, n.Found())
		return def
	}
	return v
}

// flag is true or false; nil: absent.
func (s section) flag(key string) *bool {
	s.asks(key, Rule{Type: Flag})
	n := s.get(key)
	if n == nil {
		return nil
	}
	v, ok := n.Value.(bool)
	if !ok {
		s.wrong(key, n, "expected true or false, found %s", n.Found())
		return nil
	}
	return &v
}

// words is a list of different texts; absent: false.
func (s section) words(key string) ([]word, bool) {
	s.asks(key, Rule{Type: List})
	n := s.get(key)
	if n == nil {
		return nil, false
	}
	return s.c.words(n, JoinPath(s.path, key)), true
}

func (c *checker) words(n *Node, path string) []word {
	c.seen.Ask(path, Rule{Type: List})
	if n.Kind != isList {
		c.lost(path)
		hint := ""
		if n.Kind == isText {
			hint = "; write [" + cut(n.Raw) + "]"
		}
		c.Errorf(n.At, path, "expected a list, found %s%s", n.Found(), hint)
		return nil
	}
	if len(n.Items) == 0 {
		c.Errorf(n.At, path, "expected at least one name, found an empty list; remove the key to have the default")
	}
	var out []word
	for i, it := range n.Items {
		w, ok := c.text(it, fmt.Sprintf("%s[%d]", path, i))
		if !ok {
			continue
		}
		if slices.ContainsFunc(out, func(o word) bool { return o.text == w.text }) {
			c.Errorf(w.at, w.path, "expected each name once, found %s again; remove one", shown(w.text))
			continue
		}
		out = append(out, w)
	}
	return out
}

// named iterates over a section of named mappings, checking the names.
func (c *checker) named(s section, key string, each func(name string, e entry)) {
	n := s.get(key)
	if n == nil || !c.mapping(n, key) {
		return
	}
	if len(n.Entries) == 0 {
		c.Errorf(n.At, key, "expected at least one name with its settings, found an empty mapping")
	}
	s.asks(key, Rule{Type: Mapping})
	for _, e := range n.Entries {
		if key != "studies" { // which have names of their own
			c.seen.Name(JoinPath(key, e.Key), key+".*")
		}
		if !name(e.Key) {
			c.lost(key)
			c.Errorf(e.At, key, "expected a name of letters, digits and . _ : @ + / - that begins with a letter or digit, found %s", shown(e.Key))
		}
		each(e.Key, e)
	}
}

// path resolves a path against the folder of the file.
func (c *checker) path(p string) string {
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(filepath.Dir(c.File), p)
}

// file checks that a path is a file and resolves it.
func (s section) file(key string) string {
	w, ok := s.text(key)
	s.asks(key, Rule{Type: File})
	if !ok {
		return ""
	}
	return s.c.exists(w, false)
}

func (c *checker) exists(w word, folder bool) string {
	want := "a file"
	if folder {
		want = "a folder"
	}
	p := c.path(w.text)
	info, err := c.files.Stat(p)
	switch {
	case err != nil:
		c.Errorf(w.at, w.path, "expected %s, found none at %s: %s; paths start from the folder of this file", want, shown(p), cause(err))
	case info.IsDir() != folder && folder:
		c.Errorf(w.at, w.path, "expected a folder, found a file at %s", shown(p))
	case info.IsDir() != folder:
		c.Errorf(w.at, w.path, "expected a file, found a folder at %s", shown(p))
	default:
		return p
	}
	return ""
}
